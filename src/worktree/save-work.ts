import { rm } from "node:fs/promises";
import { existsSync } from "node:fs";
import { join } from "node:path";

import { copyIndex } from "../git/copy-index.ts";
import type { Git } from "../git/git.ts";

/** The state of a work tree. */
export interface Work {
  /** The commit that is checked out; empty before the first commit of a branch. */
  readonly head: string;
  /** A commit with all files as they are now; equal to `head` where nothing is uncommitted. */
  readonly commit: string;
}

/** Used where git knows no name of the user. */
const NOBODY = {
  GIT_AUTHOR_NAME: "Trunkline",
  GIT_AUTHOR_EMAIL: "trunkline@localhost",
  GIT_COMMITTER_NAME: "Trunkline",
  GIT_COMMITTER_EMAIL: "trunkline@localhost",
};

/**
 * Stores the files of a work tree as a commit, beside its own index, without a hook. No ref names the
 * commit yet. Files that git ignores are not in it.
 */
export async function commitFiles(git: Git, message: string): Promise<Work> {
  const ask = async (what: string): Promise<string> =>
    await git.text(["rev-parse", "--verify", "--quiet", what], { accepts: [0, 1, 128] });
  const head = await ask("HEAD^{commit}");
  const gitDir = await git.text(["rev-parse", "--absolute-git-dir"]);
  const index = join(gitDir, `index-${process.pid}`);
  const env = { GIT_INDEX_FILE: index };
  try {
    const own = join(gitDir, "index");
    if (existsSync(own)) await copyIndex(own, index);
    await git.run(["add", "--all"], { mode: "files", env });
    const tree = await git.text(["write-tree"], { mode: "files", env });
    if (tree === (await ask("HEAD^{tree}"))) return { head, commit: head };
    const commit = await commitTree(git, tree, head === "" ? [] : [head], message);
    return { head, commit };
  } finally {
    await rm(index, { force: true });
    await rm(`${index}.lock`, { force: true });
  }
}

async function commitTree(
  git: Git,
  tree: string,
  parents: readonly string[],
  message: string,
): Promise<string> {
  const args = ["commit-tree", tree, ...parents.flatMap((each) => ["-p", each]), "-m", message];
  const { code } = await git.run(["var", "GIT_COMMITTER_IDENT"], { accepts: [0, 128] });
  return await git.text(args, { mode: "files", env: code === 0 ? {} : NOBODY });
}

/** Repositories inside a work tree whose commits would be lost with it: submodules, and clones. */
export async function nestedRepositories(git: Git, commit: string): Promise<string[]> {
  const { stdout } = await git.run(["ls-tree", "-r", "-z", "--full-tree", commit]);
  return stdout
    .toString("utf8")
    .split("\0")
    .filter((entry) => entry.startsWith("160000 "))
    .map((entry) => entry.slice(entry.indexOf("\t") + 1))
    .filter((path) => existsSync(join(git.folder, path, ".git")));
}
