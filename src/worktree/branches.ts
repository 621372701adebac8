import { existsSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { readRegularFile } from "../base/file/read-regular-file.ts";
import { Git } from "../git/git.ts";
import type { Workplace } from "../session/workplace.ts";

/** Bytes. The file holds only a name. */
const LONGEST_NAME = 64 * 1024;

export const HEADS = "refs/heads/";

/** A work tree as git knows it. */
interface KnownWorktree {
  readonly path: string;
  /** The branch that is checked out in it. */
  readonly branch: string | undefined;
}

/** All work trees of a repository, the main one first (git-worktree(1), porcelain format). */
export async function worktreesOf(git: Git): Promise<KnownWorktree[]> {
  const text = await git.text(["worktree", "list", "--porcelain", "-z"]);
  return text
    .split("\0\0")
    .map((entry) => entry.split("\0").filter(Boolean))
    .filter((lines) => lines.length > 0 && !lines.includes("bare"))
    .map((lines) => {
      const valueOf = (key: string) =>
        lines.find((line) => line.startsWith(`${key} `))?.slice(key.length + 1);
      return { path: valueOf("worktree") ?? "", branch: valueOf("branch")?.slice(HEADS.length) };
    });
}

export async function hasBranch(git: Git, branch: string): Promise<boolean> {
  const args = ["rev-parse", "--verify", "--quiet", `${HEADS}${branch}^{commit}`];
  return (await git.run(args, { accepts: [0, 1, 128] })).code === 0;
}

/** The branch that is checked out; undefined for a detached HEAD. */
export async function currentBranch(git: Git): Promise<string | undefined> {
  // Works also before the first commit of a branch.
  const full = await git.text(["rev-parse", "--symbolic-full-name", "HEAD"], {
    accepts: [0, 128],
  });
  return full.startsWith(HEADS) ? full.slice(HEADS.length) : undefined;
}

/**
 * Refs that keep commits. Others go with a work tree (`refs/bisect`), or with the next fetch
 * (`refs/remotes`).
 */
const LASTING = ["refs/heads", "refs/tags", "refs/trunkline"];

/** Whether a branch, a tag or one of our own refs leads to a commit. */
export async function isReachable(git: Git, commit: string): Promise<boolean> {
  const args = ["for-each-ref", "--count=1", "--format=%(refname)", `--contains=${commit}`];
  return (await git.text([...args, ...LASTING])) !== "";
}

export async function isAncestor(git: Git, one: string, other: string): Promise<boolean> {
  const args = ["merge-base", "--is-ancestor", one, other];
  return (await git.run(args, { accepts: [0, 1, 128] })).code === 0;
}

/** Creates a branch with a free name, and returns that name. */
export async function saveAs(git: Git, name: string, commit: string): Promise<string> {
  for (let count = 1; ; count++) {
    const branch = count === 1 ? name : `${name}-${count}`;
    if (await hasBranch(git, branch)) continue;
    // An empty old value: the branch must not exist.
    await git.run(["update-ref", `${HEADS}${branch}`, commit, ""], { mode: "files" });
    return branch;
  }
}

/** Whether a rebase of the branch is in progress in some work tree; git then moves it at the end. */
export async function isBeingRebased(git: Git, branch: string): Promise<boolean> {
  const common = await git.text(["rev-parse", "--path-format=absolute", "--git-common-dir"]);
  const linked = await readdir(join(common, "worktrees")).catch(() => []);
  for (const folder of [common, ...linked.map((name) => join(common, "worktrees", name))]) {
    for (const kind of ["rebase-merge", "rebase-apply"]) {
      const file = join(folder, kind, "head-name");
      const name = readRegularFile(file, { most: LONGEST_NAME });
      if (name?.toString("utf8").trim() === `${HEADS}${branch}`) return true;
    }
  }
  return false;
}

/** What a work tree holds now. */
export interface WorktreeState {
  /** The branch that is checked out in it. */
  readonly branch: string;
  /** Commits since the commit that the session started from. */
  readonly commits: number;
  /** Files with changes that are not committed. */
  readonly uncommitted: number;
  /** The folder is gone. Opening the session creates it again, from its branch. */
  readonly isMissing: boolean;
}

/** Reads the state of a work tree, without running what its repository configures. */
export async function stateOf(place: Workplace, env: NodeJS.ProcessEnv): Promise<WorktreeState> {
  const { tree, branch, base } = place;
  const missing = { branch, commits: 0, uncommitted: 0, isMissing: true };
  if (!existsSync(tree)) return missing;
  const git = new Git(tree, { env });
  const changed = await git.list(["status", "--porcelain", "-z", "--no-renames"]);
  const count = await git.text(["rev-list", "--count", `${base.revision}..HEAD`]);
  return {
    branch: (await currentBranch(git)) ?? "(no branch)",
    commits: Number(count),
    uncommitted: changed.length,
    isMissing: false,
  };
}
