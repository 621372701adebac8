import assert from "node:assert/strict";
import { mkdirSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { mkdtempDisposable } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";

import { runFromShell } from "../../../test/support/run-from-shell.ts";
import { gitRules } from "./git-rules.ts";

const NONE = { write: [], keep: [] };

async function repository(): Promise<{ path: string; repo: string } & AsyncDisposable> {
  const folder = await mkdtempDisposable(join(realpathSync(tmpdir()), "git-rules-"));
  const repo = join(folder.path, "repo");
  mkdirSync(repo);
  const git = (...args: string[]): void => void runFromShell("git", args, { cwd: repo });
  git("init", "-q");
  git("-c", "user.name=T", "-c", "user.email=t@t", "commit", "-q", "--allow-empty", "-m", "x");
  return { path: folder.path, repo, [Symbol.asyncDispose]: () => folder.remove() };
}

describe("gitRules()", () => {
  it("makes the git folder writable, except files that name programs for git", async () => {
    await using at = await repository();
    rmSync(join(at.repo, ".git/hooks"), { recursive: true });
    mkdirSync(join(at.repo, "sub"));
    const { write, keep } = gitRules(join(at.repo, "sub"));
    const git = join(at.repo, ".git");
    assert.deepEqual(new Set(write), new Set([git]));
    assert.deepEqual(keep, [join(git, "config"), join(git, "config.worktree"), join(git, "hooks")]);
  });

  it("makes the folder that work trees share writable", async () => {
    await using at = await repository();
    const tree = join(at.path, "tree");
    runFromShell("git", ["worktree", "add", "-q", tree], { cwd: at.repo });
    const { write, keep } = gitRules(tree);
    assert.deepEqual(write, [join(at.repo, ".git"), join(at.repo, ".git/worktrees/tree")]);
    assert.ok(keep.includes(join(at.repo, ".git/hooks")));
  });

  it("protects the hooks of submodules", async () => {
    await using at = await repository();
    const module = join(at.repo, ".git/modules/lib");
    mkdirSync(module, { recursive: true });
    writeFileSync(join(module, "HEAD"), "ref: refs/heads/main\n");
    assert.ok(gitRules(at.repo).keep.includes(join(module, "hooks")));
    const lib = join(at.repo, "lib");
    mkdirSync(lib);
    writeFileSync(join(lib, ".git"), "gitdir: ../.git/modules/lib\n");
    assert.deepEqual(new Set(gitRules(lib).write), new Set([module]));
  });

  it("does not make a folder writable that a planted .git names", async () => {
    await using at = await repository();
    const plain = join(at.path, "plain");
    mkdirSync(plain);
    assert.deepEqual(gitRules(plain), NONE);
    writeFileSync(join(plain, ".git"), `gitdir: ${join(at.repo, ".git")}\n`);
    assert.deepEqual(gitRules(plain), NONE, "a file that names somebody else's repository");
    rmSync(join(plain, ".git"));
    mkdirSync(join(plain, ".git"));
    writeFileSync(join(plain, ".git/HEAD"), "ref: refs/heads/main\n");
    writeFileSync(join(plain, ".git/commondir"), join(at.repo, ".git"));
    assert.deepEqual(gitRules(plain), NONE, "a folder that shares somebody else's repository");
    const tree = join(at.path, "tree");
    runFromShell("git", ["worktree", "add", "-q", tree], { cwd: at.repo });
    rmSync(join(plain, ".git"), { recursive: true });
    writeFileSync(join(plain, ".git"), `gitdir: ${join(at.repo, ".git/worktrees/tree")}\n`);
    assert.deepEqual(gitRules(plain), NONE, "the work tree of somebody else");
  });
});
