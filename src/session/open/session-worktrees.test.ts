import assert from "node:assert/strict";
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";

import { SampleCommandLine } from "../../../test/samples/sample-command-line.ts";
import { Log } from "../../base/log.ts";
import { SessionLog } from "../../store/session/session-log.ts";
import { loadConfig } from "../../config/load.ts";
import { SessionWorktrees } from "./session-worktrees.ts";

const SESSIONS = [1, 2, 3, 4].map((count) => `${String(count).repeat(8)}-0000-4000-8000-0`);
const QUIET = new Log("error");

async function setUp() {
  const line = await SampleCommandLine.create();
  line.git("commit", "-q", "--allow-empty", "-m", "First");
  const { env, home } = line;
  const { config } = await loadConfig({ cwd: home.project, env, flags: { data: home.data } });
  const worktrees = new SessionWorktrees(config, env);
  const log = await SessionLog.open(home.data);
  const store = async (id: string, notes: object) => {
    const session = { id, cwd: home.project, agent: "a", notes: { ...notes } };
    const { key } = await log.create(session);
    return () => log.release(key);
  };
  return {
    line,
    worktrees,
    log,
    store,
    create: (id: string) => worktrees.create(id, home.project, {}),
    async [Symbol.asyncDispose]() {
      await log[Symbol.asyncDispose]();
      await line[Symbol.asyncDispose]();
    },
  };
}

describe("SessionWorktrees", () => {
  it("puts away what killed processes have left, and only that", async () => {
    await using it = await setUp();
    const [gone = "", stored = "", half = "", beginning = ""] = SESSIONS;
    // Its session was deleted; what the agent had not committed is still there.
    const one = await it.create(gone);
    writeFileSync(join(one.tree, "work.txt"), "work");
    const two = await it.create(stored);
    await (
      await it.store(stored, { worktree: two })
    )();
    // Killed before the session knew of its work tree.
    const three = await it.create(half);
    await (
      await it.store(half, {})
    )();
    // A process, this one, is just creating it.
    const four = await it.create(beginning);
    const release = await it.store(beginning, {});
    assert.deepEqual((await it.worktrees.strays(it.log)).toSorted(), [gone, half]);
    await it.worktrees.sweep(it.log, QUIET);
    const there = [one, two, three, four].map(({ tree }) => existsSync(tree));
    assert.deepEqual(there, [false, true, false, true]);
    assert.equal(it.line.git("cat-file", "blob", `${one.branch}:work.txt`), "work");
    assert.equal((await it.log.find(half))?.isDeleted, true);
    assert.deepEqual(await it.worktrees.strays(it.log), []);
    await release();
  });

  it("leaves what cannot be removed without loss, and goes on with the others", async () => {
    await using it = await setUp();
    const [first = "", second = ""] = SESSIONS;
    const one = await it.create(first);
    it.line.git("init", "-q", join(one.tree, "inner"));
    it.line.git("-C", join(one.tree, "inner"), "commit", "-q", "--allow-empty", "-m", "Inner");
    const two = await it.create(second);
    await it.worktrees.sweep(it.log, QUIET);
    assert.deepEqual([existsSync(one.tree), existsSync(two.tree)], [true, false]);
  });
});
