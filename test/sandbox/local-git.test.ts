// Long: each command of git in a sandbox of its own.
import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";

import { git, GitSandbox, skip } from "../support/git-sandbox.ts";
import { rounds } from "../support/full-run.ts";
import { runFromShell } from "../support/run-from-shell.ts";

/** What a person would look at. */
const LOOK = `git for-each-ref
git symbolic-ref -q HEAD || git rev-parse HEAD
git ls-files --stage --debug | grep -v -e ctime -e mtime -e dev: -e uid: -e size:
git stash list
git config --get-regexp '^branch\\.'
cat "$(git rev-parse --git-path MERGE_HEAD)" "$(git rev-parse --git-path CHERRY_PICK_HEAD)" 2>/dev/null
true`;
const STATUS = "echo ===; git status --porcelain=v2 --untracked-files=all";

interface Step {
  readonly line: string;
  /** The repository of the person stays as it was, since this goes on with the next step. */
  readonly isUnfinished?: boolean;
  /** What is not taken over. */
  readonly says?: RegExp;
}

/** Each line is a command of its own. */
const EVERYDAY = {
  "looks at it": ["git status", "git diff", "git log --stat", "git show HEAD", "git blame a.txt"],
  "stages and commits": [
    "echo new > new.txt; git add new.txt",
    "git commit -qm 'Add it'",
    "echo more >> new.txt; git commit -qam More",
    "git commit -q --amend -m Amended",
    "printf 'zero\\none\\ntwo\\nthree\\nfour\\n' > a.txt; printf 'y\\nn\\n' | git -c core.editor=true add -p a.txt",
    "git add -N later.txt 2>/dev/null; echo x > later.txt; git add -N later.txt",
    "git restore --staged a.txt",
    "git restore a.txt",
    "git rm -q new.txt",
    "git mv a.txt b.txt; git commit -qm Moved",
    "chmod +x b.txt; git update-index --chmod=+x b.txt; git commit -qm Executable",
    "rm later.txt; git clean -qfdx; git reset -q --hard",
  ],
  stashes: [
    "echo x >> a.txt; git stash push -qm first",
    "echo y >> a.txt; echo u > untracked; git stash push -qum second",
    "git stash list",
    "git stash pop -q",
    "git checkout -q -- a.txt; rm untracked",
    "echo z >> a.txt; git stash -q",
    "git stash drop -q stash@{1}",
    "git stash apply -q",
    "git checkout -q -- a.txt; git stash clear",
  ],
  "makes and leaves branches": [
    "git switch -qc topic",
    "echo t > t.txt; git add t.txt; git commit -qm Topic",
    "git switch -q -",
    "git branch other topic",
    "git branch -q -D other",
    "git branch -m topic area/topic",
    "git tag v1; git tag -a v2 -m two area/topic",
    "git switch -q --detach v2",
    "git switch -q -",
    "git branch --track follows area/topic",
    "git tag -d v1",
    "git branch -q -d follows",
  ],
  merges: [
    "git switch -qc one; echo 1 > one.txt; git add .; git commit -qm One; git switch -q -",
    "git merge -q one",
    "git switch -qc two HEAD~1; echo 2 > two.txt; git add .; git commit -qm Two; git switch -q -",
    "git merge -q --no-edit two",
    "git switch -qc left; echo left > a.txt; git commit -qam Left; git switch -q -",
    "echo right > a.txt; git commit -qam Right",
    "git merge left",
    "echo both > a.txt; git add a.txt",
    "git commit -q --no-edit",
    "git switch -qc more HEAD~1; echo more > a.txt; git commit -qam More; git switch -q -; git merge more",
    "git merge --abort",
  ],
  rebases: [
    "git switch -qc base; echo b > b.txt; git add .; git commit -qm B; git switch -q -",
    "echo c > c.txt; git add .; git commit -qm C; git rebase -q base",
    "git switch -qc clash HEAD~1; echo other > c.txt; git add .; git commit -qm Clash; git switch -q -",
    { line: "git rebase clash", isUnfinished: true, says: /unfinished/ },
    {
      line: "git status | head -1; echo solved > c.txt; git add c.txt",
      isUnfinished: true,
      says: /unfinished/,
    },
    "GIT_EDITOR=true git rebase --continue",
    "git switch -qc other HEAD~1; echo again > c.txt; git commit -qam Again",
    { line: "git rebase -", isUnfinished: true, says: /unfinished/ },
    "git rebase --abort",
    "git reset -q --hard HEAD~1; echo e > e.txt; git add .; git commit -qm E; git rebase -q -x 'echo run >> /tmp/ran' HEAD~1; rm /tmp/ran",
  ],
  "picks and reverts": [
    "git switch -qc from; echo p > p.txt; git add .; git commit -qm P; echo q > a.txt; git commit -qam Q; git switch -q -",
    "git cherry-pick from~1",
    "echo r > a.txt; git commit -qam R; git cherry-pick from",
    "echo q > a.txt; git add a.txt; git cherry-pick --continue",
    "git revert --no-edit HEAD",
    "git revert --no-edit HEAD~2",
    "git checkout -q -f; git revert --abort; git reset -q --hard HEAD~2",
  ],
  "cleans up": [
    "echo g > g.txt; git add .; git commit -qm G; git gc -q",
    "git pack-refs --all",
    "git notes add -m Note",
    "git fsck",
  ],
} as const satisfies Readonly<Record<string, readonly (string | Step)[]>>;

const KINDS: Readonly<Record<string, (repo: string) => { folder: string; top: string }>> = {
  "a plain repository": (repo) => ({ folder: repo, top: repo }),
  "a work tree of a session": (repo) => {
    const tree = join(repo, "../tree");
    git(repo, "worktree", "add", "-q", tree);
    return { folder: tree, top: tree };
  },
  "a folder of a repository": (repo) => {
    const sub = join(repo, "sub");
    mkdirSync(sub);
    writeFileSync(join(sub, "a.txt"), "one\ntwo\nthree\n");
    git(repo, "add", "--all");
    git(repo, "commit", "-qm", "Add sub");
    return { folder: sub, top: sub };
  },
  "a submodule": (repo) => {
    const lib = join(repo, "../lib");
    git(repo, "clone", "-q", repo, lib);
    git(repo, "-c", "protocol.file.allow=always", "submodule", "add", "-q", lib, "lib");
    git(repo, "commit", "-qm", "Add lib");
    const top = join(repo, "lib");
    git(top, "config", "user.name", "Ada");
    git(top, "config", "user.email", "ada@example.org");
    return { folder: repo, top };
  },
};

for (const [kind, prepare] of Object.entries(KINDS)) {
  describe(`git of commands in ${kind}`, { skip, timeout: 600_000 }, () => {
    const all = Object.entries(EVERYDAY);
    const isUsual = kind === "a plain repository";
    // Elsewhere than in a plain repository, as far as an operation that is left and continued.
    const few = isUsual ? all : [["rebases", EVERYDAY.rebases.slice(0, 6)] as const];
    for (const [what, steps] of rounds({ few: 0, all: 1 }) === 1 ? all : few) {
      it(what, async () => {
        let top = "";
        await using at = await GitSandbox.open((repo) => {
          const { folder, top: found } = prepare(repo);
          top = found;
          return folder;
        });
        const look = (more = ""): string =>
          runFromShell("sh", ["-c", `${LOOK}\n${more}`], { cwd: top });
        for (const step of steps) {
          const {
            line,
            isUnfinished = false,
            says,
          }: Step = typeof step === "string" ? { line: step } : step;
          const before = isUnfinished ? look() : "";
          const { output, notes } = await at.run(`${line}\necho ===\n${LOOK}\n${STATUS}`, top);
          const [said = "", ...inside] = output.split("===\n");
          const words = `${line}\n${said}\n${notes.join("\n")}`;
          if (says === undefined) assert.deepEqual(notes, [], words);
          else assert.match(notes.join("\n"), says, words);
          if (isUnfinished) assert.equal(look(), before, words);
          else assert.equal(look(STATUS), inside.join("===\n"), words);
          assert.equal(git(top, "fsck", "--strict", "--no-dangling"), "", words);
        }
        assert.equal(git(top, "for-each-ref", "refs/trunkline"), "");
      });
    }
  });
}
