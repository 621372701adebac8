import assert from "node:assert/strict";
import { chmodSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";

import { git, GitSandbox, skip } from "../support/git-sandbox.ts";
import { rounds } from "../support/full-run.ts";
import { runFromShell } from "../support/run-from-shell.ts";

const STEP = join(import.meta.dirname, "../support/git-step.ts");
const GIT = runFromShell("sh", ["-c", "command -v git"]).trim();

/** A git that ends us, or fails, at one of its commands; in the sandbox it is not there. */
function fakeGit(folder: string, at: string, what: string): string {
  mkdirSync(folder, { recursive: true });
  const script = `#!/bin/sh
case " $* " in
*" ${at} "*) ${what} ;;
esac
exec ${GIT} "$@"
`;
  writeFileSync(join(folder, "git"), script);
  chmodSync(join(folder, "git"), 0o755);
  return `${folder}:${process.env.PATH}`;
}

const COMMANDS = {
  commits:
    "git switch -qc topic; echo b > b.txt; git add b.txt; git commit -qm B; echo c > c.txt; git add c.txt",
  stashes: "echo x >> a.txt; git stash -q",
} as const;

/** What the repository of the person says. */
function look(repo: string): string {
  return [
    "for-each-ref --format=%(refname)",
    "symbolic-ref HEAD",
    "log --format=%s",
    "stash list --format=%gd",
    "status --porcelain",
  ]
    .map((line) => git(repo, ...line.split(" ")))
    .join("\n");
}

/** What it says after each command, where nothing goes wrong. */
const undisturbed = new Map<string, string>();

async function expected(line: string): Promise<string> {
  const known = undisturbed.get(line);
  if (known !== undefined) return known;
  await using at = await GitSandbox.open();
  await at.run(line);
  const said = look(at.repo);
  undisturbed.set(line, said);
  return said;
}

function requireWhole(at: GitSandbox): void {
  assert.deepEqual(
    readdirSync(join(at.repo, ".git")).filter((name) => /lock|trunkline/.test(name)),
    [],
  );
  assert.equal(at.git("fsck", "--no-dangling"), "");
  const data = join(at.home.data, "git");
  const left = readdirSync(data).flatMap((name) => readdirSync(join(data, name)));
  assert.deepEqual(left, []);
}

describe("taking over git of a command", { skip, timeout: 600_000 }, () => {
  for (const [what, steps] of [
    ["commits", ["update-ref", "symbolic-ref", "receive-pack"]],
    ["stashes", ["update-ref", "receive-pack"]],
  ] as const) {
    for (const step of steps.slice(0, rounds({ few: 1, all: steps.length }))) {
      for (const when of ["before", "after"]) {
        it(`is finished by the next session if it is killed ${when} ${step}, of a command that ${what}`, async () => {
          const line = COMMANDS[what];
          await using at = await GitSandbox.open();
          const kill =
            when === "before" ? "kill -9 $PPID; exit 1" : `${GIT} "$@"; kill -9 $PPID; exit 1`;
          const PATH = fakeGit(join(at.home.path, "fake"), step, kill);
          const env = { ...process.env, PATH };
          assert.throws(() => {
            runFromShell(process.execPath, [STEP, at.home.path, at.repo, line], { env });
          }, /Command failed/);
          await using next = await GitSandbox.in(at.home, at.repo);
          const { notes } = await next.run("true");
          assert.deepEqual(notes, []);
          assert.equal(look(at.repo), await expected(line));
          requireWhole(at);
        });
      }
    }
  }

  it("is finished by the next session if the command itself is killed with us", async () => {
    await using at = await GitSandbox.open();
    // A command cannot see our process.
    const killer = `${process.execPath} ${STEP} ${at.home.path} ${at.repo} '${COMMANDS.commits}; touch ready; sleep 600' & pid=$!
while ! [ -e ${at.repo}/ready ]; do sleep 0.05; done; kill -9 $pid`;
    runFromShell("sh", ["-c", killer]);
    await using next = await GitSandbox.in(at.home, at.repo);
    const { notes } = await next.run("rm -f ready");
    assert.deepEqual(notes, []);
    assert.equal(look(at.repo), await expected(COMMANDS.commits));
    requireWhole(at);
  });

  for (const step of ["receive-pack", "update-ref", "symbolic-ref"].slice(
    0,
    rounds({ few: 1, all: 3 }),
  )) {
    it(`is tried again with the next command if the disk is full at ${step}`, async () => {
      await using at = await GitSandbox.open();
      const before = look(at.repo);
      const full = "echo 'fatal: cannot write: No space left on device' >&2; exit 128";
      const env = { ...process.env, PATH: fakeGit(join(at.home.path, "fake"), step, full) };
      const args = [STEP, at.home.path, at.repo, COMMANDS.commits];
      const { notes } = JSON.parse(runFromShell(process.execPath, args, { env })) as {
        notes: string[];
      };
      assert.match(notes.join("\n"), /No space left on device.*tried again/);
      if (step !== "symbolic-ref") {
        const now = look(at.repo).replace("?? b.txt\n?? c.txt\n", "");
        assert.equal(now.replace(/refs\/trunkline\/incoming.*\n/, ""), before);
      }
      const again = await at.run("true");
      assert.deepEqual(again.notes, []);
      assert.equal(look(at.repo), await expected(COMMANDS.commits));
      requireWhole(at);
    });
  }

  it("waits for the lock of another git, and then says whose file is in the way", async () => {
    await using at = await GitSandbox.open();
    const lock = join(at.repo, ".git/index.lock");
    writeFileSync(lock, "");
    const { notes } = await at.run("echo b > b.txt; git add b.txt");
    assert.match(
      notes.join("\n"),
      /index\.lock' is there\. If no git is running, delete that file/,
    );
    runFromShell("rm", [lock]);
    await at.run("true");
    assert.equal(at.git("status", "--porcelain"), "A  b.txt\n");
    requireWhole(at);
  });
});
