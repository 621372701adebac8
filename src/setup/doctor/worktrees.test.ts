import assert from "node:assert/strict";
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";

import { SampleCommandLine } from "../../../test/samples/sample-command-line.ts";
import { loadConfig } from "../../config/load.ts";
import { SessionWorktrees } from "../../session/open/session-worktrees.ts";
import { SessionLog } from "../../store/session/session-log.ts";
import { checkWorktrees } from "./state-checks.ts";

const ONE = "11111111-0000-4000-8000-000000000000";

describe("checkWorktrees()", () => {
  it("names a work tree without a session, and puts it away without losing work", async () => {
    await using line = await SampleCommandLine.create();
    line.git("commit", "-q", "--allow-empty", "-m", "First");
    const { env, home } = line;
    const flags = { data: home.data };
    const { config } = await loadConfig({ cwd: home.project, env, flags });
    assert.deepEqual(await checkWorktrees(config, env), []);
    const worktrees = new SessionWorktrees(config, env);
    const { tree, branch } = await worktrees.create(ONE, home.project, {});
    writeFileSync(join(tree, "work.txt"), "work");
    const [found] = await checkWorktrees(config, env);
    assert.match(found?.says ?? "", /^one work tree of sessions that are gone, such as .*11111111/);
    await found?.fix?.apply();
    assert.equal(existsSync(tree), false);
    assert.equal(line.git("cat-file", "blob", `${branch}:work.txt`), "work");
    assert.deepEqual(await checkWorktrees(config, env), []);
  });

  it("leaves the work tree of a session that is stored", async () => {
    await using line = await SampleCommandLine.create();
    line.git("commit", "-q", "--allow-empty", "-m", "First");
    const { env, home } = line;
    const { config } = await loadConfig({ cwd: home.project, env, flags: { data: home.data } });
    const worktree = await new SessionWorktrees(config, env).create(ONE, home.project, {});
    {
      await using log = await SessionLog.open(home.data);
      const session = { id: ONE, cwd: home.project, agent: "a", notes: { worktree } };
      const { key } = await log.create(session);
      await log.release(key);
    }
    assert.deepEqual(await checkWorktrees(config, env), []);
  });
});
