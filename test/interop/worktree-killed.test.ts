import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";

import { SampleRepository } from "../samples/sample-repository.ts";
import { Worktrees } from "../../src/worktree/worktrees.ts";

const STEPS = join(import.meta.dirname, "../support/worktree-steps.ts");
const SESSION = "11111111-0000-4000-8000-000000000000";
const BRANCH = "trunkline/11111111";

interface Kill {
  readonly before?: number;
  readonly after?: number;
}

/**
 * Counts the calls of git, and kills the program that makes one of them before or after it. Between
 * the two there may be a shell that starts git for the program. Calls that are made at once have
 * different numbers. Nobody is killed for a program that has ended: its parent is this test.
 */
function gitScript(git: string, count: string, { before = 0, after = 0 }: Kill): string {
  return `#!/bin/sh
kill_program() {
  pid=$PPID
  while program=$(readlink /proc/$pid/exe); do
    if [ "$program" = '${process.execPath}' ]; then kill -9 $pid; return; fi
    pid=$(sed -n 's/^PPid:[^0-9]*//p' /proc/$pid/status)
  done
}
count=$(flock '${count}.lock' sh -c '
  count=$(($(cat "$1" 2>/dev/null || echo 0) + 1))
  echo $count | tee "$1"
' sh '${count}')
if [ $count = ${before} ]; then kill_program; exit 1; fi
'${git}' "$@"
code=$?
if [ $count = ${after} ]; then kill_program; fi
exit $code
`;
}

const { stdout } = spawnSync("sh", ["-c", "command -v git"], { encoding: "utf8" });
const REAL_GIT = stdout.trim();

class Rig extends SampleRepository {
  readonly data = join(this.home, "data");
  readonly worktrees = new Worktrees({ data: this.data, env: this.env, carry: [] });
  readonly #bin = join(this.home, "bin");
  readonly #count = join(this.home, "count");

  constructor() {
    super();
    this.write(".gitconfig", "[user]\n\tname = Ada\n\temail = ada@example.org\n");
    this.write("app/a.txt", "one\n");
    this.write("app/.gitignore", "*.env\n");
    this.write("app/x.env", "A=1\n");
    this.run("add", ".");
    this.commit();
    mkdirSync(this.#bin);
  }

  /** A session that has committed, and has uncommitted and new files. */
  async work(): Promise<string> {
    const { tree } = await this.worktrees.create(SESSION, this.path, {});
    this.write("app/elsewhere.txt", "main has moved on\n");
    this.run("add", "elsewhere.txt");
    this.commit();
    writeFileSync(join(tree, "a.txt"), "two\n");
    this.runIn(tree, "commit", "-q", "-a", "-m", "Two");
    writeFileSync(join(tree, "a.txt"), "three\n");
    writeFileSync(join(tree, "new.txt"), "new\n");
    return tree;
  }

  /** Runs an action in a process of its own. Returns how often it called git. */
  act(action: string, kill: Kill = {}): number {
    rmSync(this.#count, { force: true });
    const program = join(this.#bin, "git");
    writeFileSync(program, gitScript(REAL_GIT, this.#count, kill));
    chmodSync(program, 0o755);
    const env = { ...this.env, PATH: `${this.#bin}:${this.env.PATH}` };
    const args = [STEPS, action, this.data, this.path, SESSION];
    const { status, signal, stderr } = spawnSync(process.execPath, args, { env, encoding: "utf8" });
    if (Object.keys(kill).length === 0) assert.equal(status, 0, stderr);
    else assert.equal(signal, "SIGKILL", stderr);
    return Number(readFileSync(this.#count, "utf8"));
  }

  contentOf(path: string): string {
    return this.run("cat-file", "blob", path);
  }

  checkWhole(): void {
    this.run("fsck", "--connectivity-only", "--no-dangling");
    assert.equal(this.run("status", "--porcelain"), "");
  }
}

/** Tries an action with a kill before and after each call of git that it makes. */
async function atEachStep(
  action: string,
  prepare: (rig: Rig) => Promise<unknown>,
  check: (rig: Rig, where: string) => Promise<void>,
): Promise<number> {
  let steps: number;
  {
    using rig = new Rig();
    await prepare(rig);
    steps = rig.act(action);
    await check(rig, "not killed");
  }
  for (let step = 1; step <= steps; step++) {
    for (const when of ["before", "after"]) {
      using rig = new Rig();
      await prepare(rig);
      rig.act(action, { [when]: step });
      await check(rig, `${action}: killed ${when} call ${step} of ${steps}`);
    }
  }
  return steps;
}

describe("a work tree whose process is killed at each step", () => {
  it("leaves nothing when it was being created", async () => {
    const steps = await atEachStep(
      "create",
      async () => {},
      async (rig, where) => {
        assert.deepEqual(await rig.worktrees.remove(SESSION), { kept: undefined }, where);
        assert.deepEqual(rig.run("branch", "--format=%(refname:short)"), "main", where);
        assert.equal(rig.run("worktree", "list").split("\n").length, 1, where);
        assert.equal(existsSync(join(rig.data, "worktrees", SESSION)), false, where);
        rig.checkWhole();
        // The session can be created again.
        await rig.worktrees.create(SESSION, rig.path, {});
      },
    );
    assert.ok(steps > 5, String(steps));
  });

  for (const action of ["merge", "squash"]) {
    it(`loses nothing when it was being landed (${action}), and lands with the next try`, async () => {
      const steps = await atEachStep(
        action,
        (rig) => rig.work(),
        async (rig, where) => {
          rig.act(action);
          assert.equal(rig.contentOf("main:a.txt"), "three", where);
          assert.equal(rig.contentOf("main:new.txt"), "new", where);
          assert.equal(rig.contentOf("main:elsewhere.txt"), "main has moved on", where);
          rig.checkWhole();
        },
      );
      assert.ok(steps > 10, String(steps));
    });
  }

  it("keeps the work on a branch when it was being removed", async () => {
    const steps = await atEachStep(
      "remove",
      (rig) => rig.work(),
      async (rig, where) => {
        await rig.worktrees.remove(SESSION);
        assert.equal(rig.contentOf(`${BRANCH}:a.txt`), "three", where);
        assert.equal(rig.contentOf(`${BRANCH}:new.txt`), "new", where);
        assert.equal(rig.run("worktree", "list").split("\n").length, 1, where);
        assert.equal(existsSync(join(rig.data, "worktrees", SESSION)), false, where);
        rig.checkWhole();
      },
    );
    assert.ok(steps > 5, String(steps));
  });
});
