import assert from "node:assert/strict";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";

import { SampleFolder } from "../../../../test/samples/sample-folder.ts";
import { testServer } from "../../../app/tool/test-server.ts";
import type { Json } from "../../../../test/support/acp-app.ts";
import type { ApiCall } from "../../../base/capability/api-route.ts";
import { OWNER, type Principal } from "../../../base/principal.ts";
import { routeRefusal } from "../router.ts";
import type { DashboardSources } from "../sources.ts";
import { serverRoutes } from "./server-routes.ts";

const NOTES = join(import.meta.dirname, "../../../../test/support/notes-server.mjs");
const ADMIN: Principal = { id: "token 1", name: "ann", scopes: ["dashboard", "admin"] };
const PROGRAMS: Principal = { ...ADMIN, scopes: ["dashboard", "admin", "programs"] };

async function rig(): Promise<
  AsyncDisposable & {
    post: (path: string, body?: object, principal?: Principal) => Promise<Json>;
    servers: () => Promise<Record<string, unknown>>;
  }
> {
  const folder = await SampleFolder.create();
  const config = join(folder.path, "config.json");
  await mkdir(folder.path, { recursive: true });
  await writeFile(config, "{}");
  const env = { HOME: folder.path, PATH: process.env["PATH"] };
  const input = { cwd: folder.path, env, flags: { config, data: join(folder.path, "data") } };
  // Nothing else of the sources is used here.
  const routes = serverRoutes({ input, testServer } as unknown as DashboardSources);
  return {
    post: async (path, body = {}, principal = OWNER) => {
      for (const route of routes) {
        const match = new RegExp(`^${route.path.replace(":id", "([^/]+)")}$`).exec(path);
        if (match === null) continue;
        const [, id] = match;
        const refusal = routeRefusal(principal, route);
        if (refusal !== undefined) throw new Error(refusal);
        return await route.handle({ principal, id, body } as unknown as ApiCall);
      }
      assert.fail(`no route ${path}`);
    },
    servers: async () => JSON.parse(await readFile(config, "utf8")).mcpServers ?? {},
    [Symbol.asyncDispose]: () => folder[Symbol.asyncDispose](),
  };
}

describe("servers from the dashboard", { timeout: 60_000 }, () => {
  it("are added, tested and removed as by the commands", async () => {
    await using it = await rig();
    const words = [process.execPath, NOTES];
    await it.post("/api/servers", { name: "notes", words, env: { NOTES_KEY: "k" } }, PROGRAMS);
    const entry = { command: process.execPath, args: [NOTES], env: { NOTES_KEY: "k" } };
    assert.deepEqual(await it.servers(), { notes: entry });
    await assert.rejects(it.post("/api/servers", { name: "notes", words }), /Remove it first/);
    await it.post("/api/servers", { name: "here", words: ["./run.sh"] });
    assert.match(String((await it.servers())["here"]?.["command" as never]), /^\/.*\/run\.sh$/);
    const { works, tools, held } = await it.post("/api/servers/notes/test", {}, ADMIN);
    assert.equal(works, true);
    assert.deepEqual(new Set([...tools, ...held]), new Set(["fail", "read_note"]));
    const failed = await it.post("/api/servers/here/test", {}, ADMIN);
    assert.equal(failed.works, false);
    assert.match(failed.why, /run\.sh/);
    await assert.rejects(it.post("/api/servers/nots/test"), /Did you mean 'notes'/);
    await it.post("/api/servers/here/remove", {}, ADMIN);
    await assert.rejects(it.post("/api/servers/here/remove"), /no server with that name/);
    assert.deepEqual(Object.keys(await it.servers()), ["notes"]);
  });

  it("need `programs` to be a program, or to refer to secrets", async () => {
    await using it = await rig();
    const url = "https://example.com/mcp";
    const refused = [
      { words: ["sh", "-c", "id"] },
      { words: [url], headers: { "X-Key": "${keychain:github}" } },
      { words: ["https://example.com/${HOME}"] },
    ];
    for (const server of refused) {
      const added = it.post("/api/servers", { name: "x", ...server }, ADMIN);
      await assert.rejects(added, /needs the scope 'programs'/);
    }
    assert.deepEqual(await it.servers(), {});
    await it.post("/api/servers", { name: "x", words: [url], headers: { "X-Key": "s" } }, ADMIN);
    assert.deepEqual(await it.servers(), { x: { url, headers: { "X-Key": "s" } } });
    await it.post("/api/servers", { name: "y", ...refused[1] }, PROGRAMS);
  });

  it("say what is wrong with what was typed", async () => {
    await using it = await rig();
    const url = "https://example.com/mcp";
    const wrong: readonly (readonly [object, RegExp])[] = [
      [{ words: [url] }, /'name' is missing/],
      [{ name: "x", words: "npx" }, /'words' must be/],
      [{ name: "x", words: [url, "more"] }, /'more' after a URL/],
      [{ name: "x", words: [url], env: { A: "b" } }, /no program is started/],
      [{ name: "x", words: [url], headers: { "a b": "c" } }, /'a b' is not/],
      [{ name: "x", words: ["a"], headers: { a: "c" } }, /only a URL gets headers/],
    ];
    for (const [body, says] of wrong) await assert.rejects(it.post("/api/servers", body), says);
    assert.deepEqual(await it.servers(), {});
  });

  it("cannot be changed with a token that only looks, or that is limited", async () => {
    await using it = await rig();
    const limits = [{ observe: true }, { folders: ["/srv"] }, { tools: ["*"] }];
    const paths = ["", "/x/test", "/x/remove"];
    for (const limit of limits) {
      for (const path of paths) {
        const asked = it.post(`/api/servers${path}`, {}, { ...PROGRAMS, limits: limit });
        await assert.rejects(asked, /only observes|limited to a part/, path);
      }
    }
    const plain: Principal = { id: "token 2", scopes: ["dashboard", "programs", "tools"] };
    await assert.rejects(it.post("/api/servers", {}, plain), /needs the scope 'admin'/);
  });
});
