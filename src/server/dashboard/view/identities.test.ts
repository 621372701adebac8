import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";

import { SampleRepository } from "../../../../test/samples/sample-repository.ts";
import type { Json } from "../../../../test/support/acp-app.ts";
import type { ApiCall } from "../../../base/capability/api-route.ts";
import { OWNER, type Principal } from "../../../base/principal.ts";
import { AppContext } from "../../../config/app-context.ts";
import { loadConfig } from "../../../config/load.ts";
import type { SessionReading } from "../../../store/session/session-reader.ts";
import { routeRefusal } from "../router.ts";
import { identityRoutes } from "./identities.ts";

const ADA = { name: "work", provider: "github", user: "ada", email: "ada@acme.test" };

async function rig(sample: SampleRepository, patience?: number) {
  const file = sample.write("config.jsonc", "{}");
  const { env, path: cwd } = sample;
  const flags = { config: file, data: join(sample.home, "data") };
  const { config } = await loadConfig({ cwd, env: { ...env, TRUNKLINE_CONFIG: file }, flags });
  const app = new AppContext(config, { files: [file], load: async () => config });
  const list = async () => [{ cwd, notes: {} }];
  const reader = { list } as unknown as SessionReading;
  const routes = identityRoutes(app, reader, { ...env, TRUNKLINE_CONFIG: file }, patience);
  return {
    read: async (): Promise<Json> => {
      const [route] = routes.filter((each) => each.path === "/api/identities");
      return await route?.handle({ principal: OWNER } as ApiCall);
    },
    identities: () => JSON.parse(readFileSync(file, "utf8")).identities,
    post: async (path: string, body: object, principal: Principal = OWNER): Promise<Json> => {
      const route = routes.find((each) => each.method === "POST" && each.path === path);
      assert.ok(route);
      const refusal = routeRefusal(principal, route);
      if (refusal !== undefined) throw new Error(refusal);
      return await route.handle({ principal, body } as unknown as ApiCall);
    },
  };
}

describe("identities from the dashboard", { timeout: 60_000 }, () => {
  it("are made, and repositories are switched to them, as by the commands", async () => {
    using sample = new SampleRepository();
    const { post, identities } = await rig(sample);
    await post("/api/identities", { ...ADA, "ssh-key": "~/.ssh/work", signing: "none" });
    const { name: _, ...facts } = ADA;
    assert.deepEqual(identities(), { work: { ...facts, sshKey: "~/.ssh/work" } });
    await assert.rejects(post("/api/identities", ADA), /already an identity 'work'/);
    const there = { identity: "work", folder: sample.path };
    const { isChanged, files } = await post("/api/identities/switch", there);
    assert.equal(isChanged, true);
    assert.ok(files.length > 0);
    assert.equal(sample.run("config", "user.email").trim(), "ada@acme.test");
    assert.equal((await post("/api/identities/switch", there)).isChanged, false);
  });

  it("are shown with when their token expires, from two weeks before", async () => {
    using sample = new SampleRepository();
    const { post, read } = await rig(sample);
    await post("/api/identities", ADA);
    const shown = async (days: number) => {
      const expires = new Date(Date.now() + days * 24 * 60 * 60_000).toISOString();
      sample.write(
        "data/identity/tokens.json",
        JSON.stringify({ "trunkline.github.work|ada": { expires } }),
      );
      return (await read()).identities[0].tokenExpires === expires;
    };
    assert.deepEqual([await shown(15), await shown(13), await shown(-1)], [false, true, true]);
  });

  it("are shown beside a repository in which git waits for a pipe", async () => {
    using sample = new SampleRepository();
    const { read } = await rig(sample, 100);
    execFileSync("mkfifo", [join(sample.path, "pipe")]);
    const settings = readFileSync(join(sample.path, ".git/config"));
    sample.run("config", "include.path", "../pipe");
    const { identities, projects } = await read();
    assert.deepEqual(identities, []);
    assert.deepEqual(projects, [
      {
        ...{ folder: sample.path, guard: "unknown", sessions: 1 },
        says: "Git takes long here. Look at the page again later.",
      },
    ]);
    // Ends the git that waits; those that follow it have nothing to wait for.
    writeFileSync(join(sample.path, ".git/config"), settings);
    execFileSync("sh", ["-c", ": > pipe"], { cwd: sample.path });
  });

  it("say what is missing or wrong, and take no source of a token", async () => {
    using sample = new SampleRepository();
    const { post, identities } = await rig(sample);
    await assert.rejects(post("/api/identities", { ...ADA, email: "" }), /without --email/);
    await assert.rejects(post("/api/identities", { ...ADA, provider: "x" }), /without --provider/);
    await post("/api/identities", { ...ADA, "token-source": "env:SECRET" });
    assert.equal(identities().work.tokenSource, undefined);
    const to = (identity: string, folder: string): Promise<Json> =>
      post("/api/identities/switch", { identity, folder });
    await assert.rejects(to("wrok", sample.path), /wrok/);
    await assert.rejects(to("work", "relative"), /not a folder that you may use/);
    await assert.rejects(to("work", sample.home), /repository/);
  });

  it("cannot be changed with a token that only looks, or that is limited", async () => {
    using sample = new SampleRepository();
    const { post, identities } = await rig(sample);
    const admin = { id: "token 1", scopes: ["dashboard", "tools", "admin"] } as const;
    const limits = [{ observe: true }, { folders: [sample.path] }, { tools: ["*"] }];
    for (const limit of limits) {
      for (const path of ["/api/identities", "/api/identities/switch"]) {
        const asked = post(path, ADA, { ...admin, limits: limit });
        await assert.rejects(asked, /only observes|limited to a part/);
      }
    }
    assert.equal(identities(), undefined);
  });
});
