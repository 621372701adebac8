import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";

import type { Json } from "../support/acp-app.ts";
import { CONFIG, folderIn, pageOf, repositoryIn } from "../support/dashboard-home.ts";
import { DashboardPage } from "../support/dashboard-page.ts";
import { bearer, type GuardedGateway, GuardedHome } from "../support/guarded-gateway.ts";

const PIXEL =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

describe("beginning things by the dashboard's API", { timeout: 600_000 }, () => {
  let home: GuardedHome;
  let gateway: GuardedGateway;
  before(async () => {
    const { other } = CONFIG.agents;
    const args = [...other.args, "--images"];
    home = new GuardedHome({ ...CONFIG, agents: { other: { ...other, args } } });
    gateway = await home.serve();
  });
  after(async () => {
    await gateway[Symbol.asyncDispose]();
    home[Symbol.dispose]();
  });

  const pageWith = async (name: string, ...options: string[]): Promise<DashboardPage> => {
    const scopes = ["--scope", "dashboard", "--scope", "sessions"];
    return new DashboardPage(
      gateway.ready.url,
      bearer(await home.createToken(name, ...scopes, ...options)),
    );
  };

  it("begins a session with its settings, its first prompt, files and images, or deletes it again", async () => {
    using page = pageOf(gateway);
    const folder = repositoryIn(home, "begun");
    const { agents: before } = await page.get("/api/start/agents");
    assert.deepEqual(
      before.map(({ name }: Json) => name),
      ["other", "trunkline"],
      "the default one first",
    );
    const live = await page.events();
    const prompt = {
      text: "blocks @a.txt @../x.txt",
      images: [{ mimeType: "image/png", data: PIXEL }],
    };
    const settings = [{ kind: "mode", id: "ask" }];
    const begun = await page.post("/api/sessions", { folder, settings, prompt });
    assert.equal(begun.status, 200, JSON.stringify(begun.body));
    const { row } = await live.find("session", (data) => data.row?.ended !== undefined);
    assert.deepEqual([row.id, row.cwd, row.mode], [begun.body.id, folder, "ask"]);
    assert.equal(row.ended, "end_turn");
    const { events } = await page.get(`/api/sessions/${row.id}/events`);
    const { message } = events.find((each: Json) => each.message.kind === "prompt");
    assert.deepEqual(
      message.prompt.map(({ type, name, mimeType }: Json) => name ?? mimeType ?? type),
      ["text", "a.txt", "image/png"],
    );
    const { agents } = await page.get("/api/start/agents");
    assert.equal(agents[0].settings.modes.currentModeId, "code", "what it offers is known now");

    const count = async (): Promise<number> => (await page.get("/api/sessions")).rows.length;
    const had = await count();
    const wrongs: [Json, RegExp][] = [
      [{ folder, settings: [{ kind: "mode", id: "none" }] }, /none/],
      [{ folder, agent: "nobody" }, /Cannot find agent 'nobody'/],
      [{ folder, agent: "trunkline", prompt: { text: "go" } }, /no language model is set up/],
      [{ folder: "relative" }, /not the absolute path/],
      [{ folder: join(folder, "a.txt") }, /There is no folder/],
      [{}, /'folder' is missing/],
      [{ folder, prompt: { text: "x", images: [{ mimeType: "text/html", data: "" }] } }, /image/],
      [{ folder, prompt: { images: [] } }, /'prompt.text' is missing/],
      [{ folder: home.path, worktree: true }, /repository/],
    ];
    for (const [body, says] of wrongs) {
      const { status, body: answer } = await page.post("/api/sessions", body);
      assert.ok(status >= 400, JSON.stringify(body));
      assert.match(answer.error, says);
    }
    assert.equal(await count(), had, "what cannot begin leaves no session");
  });

  it("gives a session a work tree of its own, on the branch that was named", async () => {
    using page = pageOf(gateway);
    const folder = repositoryIn(home, "treed");
    const begun = await page.post("/api/sessions", { folder, worktree: true, branch: "mine" });
    assert.equal(begun.status, 200, JSON.stringify(begun.body));
    const branches = execFileSync("git", ["branch", "--list", "mine"], { cwd: folder });
    assert.match(branches.toString(), /mine/);
  });

  it("lists folders and files within what a token may see, and follows nothing out of it", async () => {
    const seen = folderIn(home, "seen");
    const secret = folderIn(home, "secret");
    mkdirSync(join(secret, "inner"));
    mkdirSync(join(seen, "sub", ".git"), { recursive: true });
    mkdirSync(join(seen, ".hidden"));
    symlinkSync(secret, join(seen, "way-out"));
    execFileSync("mkfifo", [join(seen, "pipe")]);
    writeFileSync(join(seen, "plain.txt"), "");
    using limited = await pageWith("limited", "--folder", seen);
    using owner = pageOf(gateway);
    const at = (path: string): string => `/api/start/folders?path=${encodeURIComponent(path)}`;
    const { path, parent, folders } = await limited.get("/api/start/folders");
    assert.deepEqual([path, parent], [seen, undefined]);
    assert.deepEqual(folders, [{ name: "sub", path: join(seen, "sub"), isRepository: true }]);
    assert.equal((await limited.get(at(join(seen, "sub")))).parent, seen);
    assert.equal((await owner.get(at(seen))).parent, home.path);
    const outside = ["..", "sub/../..", "way-out", "way-out/inner", "../secret"].map(
      (it) => `${seen}/${it}`,
    );
    for (const each of [...outside, "/", "/proc/self/root", secret]) {
      for (const asked of [at(each), `/api/start/files?folder=${encodeURIComponent(each)}`]) {
        const { status, body } = await limited.send("GET", asked);
        assert.deepEqual([status, /may not use/.test(body.error)], [403, true], asked);
      }
      const { status } = await limited.post("/api/sessions", { folder: each });
      assert.equal(status, 403, each);
    }
    for (const each of ["pipe", "plain.txt", "none", "x\0y"]) {
      const { status, body } = await limited.send("GET", at(join(seen, each)));
      assert.ok(status === 404 || status === 400, `${each}: ${status}`);
      assert.match(body.error, /Cannot list|not the absolute path/);
    }
    const { files } = await limited.get(
      `/api/start/files?folder=${encodeURIComponent(seen)}&q=pla`,
    );
    assert.deepEqual(files, ["plain.txt"]);
  });

  it("shows a token for repositories no folder but theirs, and several folders as several", async () => {
    const one = folderIn(home, "one");
    const two = folderIn(home, "two");
    const clone = repositoryIn(home, "clone");
    const remote = ["remote", "add", "origin", "https://example.com/acme/app.git"];
    execFileSync("git", remote, { cwd: clone });
    using both = await pageWith("both", "--folder", one, "--folder", two);
    const { path, folders } = await both.get("/api/start/folders");
    assert.equal(path, "");
    assert.deepEqual(
      folders.map((each: Json) => each.path),
      [one, two],
    );
    using theirs = await pageWith("theirs", "--repo", "https://example.com/acme/*");
    assert.deepEqual((await theirs.get("/api/start/folders")).folders, []);
    const at = (folder: string): string => `/api/start/folders?path=${encodeURIComponent(folder)}`;
    assert.equal((await theirs.send("GET", at(home.path))).status, 403);
    assert.equal((await theirs.get(at(clone))).parent, undefined);
  });

  it("begins nothing for a token that observes, lacks the scope, or may not use the agent", async () => {
    const folder = folderIn(home, "refused");
    const body = { folder, repository: folder, prompt: { text: "say x" } };
    using watcher = await pageWith("watcher", "--observe");
    const scope = await home.createToken("looks-only", "--scope", "dashboard");
    using looker = new DashboardPage(gateway.ready.url, bearer(scope));
    const gets = ["/api/start/agents", "/api/start/folders", `/api/start/files?folder=${folder}`];
    for (const [page, says] of [
      [watcher, /only observes/],
      [looker, /scope 'sessions'/],
    ] as const) {
      for (const path of ["/api/sessions", "/api/runs"]) {
        const { status, body: answer } = await page.post(path, body);
        assert.deepEqual([status, says.test(answer.error)], [403, true], path);
      }
      for (const path of gets) {
        const { status, body: answer } = await page.send("GET", path);
        assert.deepEqual([status, says.test(answer.error)], [403, true], path);
      }
    }
    assert.equal((await watcher.get("/api/me")).observes, true);
    using agentless = await pageWith("agentless", "--agent", "trunkline");
    const { agents } = await agentless.get("/api/start/agents");
    assert.deepEqual(
      agents.map(({ name }: Json) => name),
      ["trunkline"],
    );
    const { status } = await agentless.post("/api/sessions", { folder, agent: "other" });
    assert.equal(status, 403);
  });
});
