import { existsSync } from "node:fs";
import { readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { readRegularFile } from "../base/file/read-regular-file.ts";
import { authorVariables, Git } from "../git/git.ts";
import type { Workplace } from "../session/workplace.ts";
import { TrunklineError } from "../base/errors.ts";
import { copyIndex } from "../git/copy-index.ts";

/** Bytes. The file holds only a name. */
const LONGEST_NAME = 64 * 1024;

export const HEADS = "refs/heads/";

/**
 * All work trees of a repository, the main one first (git-worktree(1), porcelain format), with the branch that
 * is checked out in each.
 */
export async function worktreesOf(git: Git) {
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
  const full = await git.text(["rev-parse", "--symbolic-full-name", "HEAD"], { accepts: [0, 128] });
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

export async function isBranchName(git: Git, name: string): Promise<boolean> {
  const { code } = await git.run(["check-ref-format", "--branch", name], { accepts: [0, 1, 128] });
  return code === 0 && !name.startsWith("@{");
}

/** The name, with a number where a branch has it. */
export async function freeBranch(git: Git, name: string): Promise<string> {
  for (let count = 1; ; count++) {
    const branch = count === 1 ? name : `${name}-${count}`;
    if (!(await hasBranch(git, branch))) return branch;
  }
}

/** Creates a branch with a free name, and returns that name. */
export async function saveAs(git: Git, name: string, commit: string): Promise<string> {
  const branch = await freeBranch(git, name);
  // An empty old value: the branch must not exist.
  await git.run(["update-ref", `${HEADS}${branch}`, commit, ""], { mode: "files" });
  return branch;
}

/** Whether a rebase of the branch is in progress in some work tree; git then moves it at the end. */
export async function isBeingRebased(git: Git, branch: string): Promise<boolean> {
  const common = await git.text(["rev-parse", "--path-format=absolute", "--git-common-dir"]);
  const linked = await readdir(join(common, "worktrees")).catch(() => []);
  for (const folder of [common, ...linked.map((name) => join(common, "worktrees", name))]) {
    for (const kind of ["rebase-merge", "rebase-apply"]) {
      const name = readRegularFile(join(folder, kind, "head-name"), { most: LONGEST_NAME });
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
  if (!existsSync(tree)) return { branch, commits: 0, uncommitted: 0, isMissing: true };
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

/**
 * Stores the files of a work tree as a commit, beside its own index, without a hook. No ref names the
 * commit yet. Files that git ignores are not in it. `head` is the commit that is checked out, empty before the
 * first commit of a branch; `commit` equals it where nothing is uncommitted.
 */
export async function commitFiles(git: Git, message: string) {
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
  return await git.text(args, { mode: "files", env: code === 0 ? {} : authorVariables() });
}

/** Repositories inside a work tree whose commits would be lost with it: submodules, and clones. */
export async function nestedRepositories(git: Git, commit: string): Promise<string[]> {
  return (await git.list(["ls-tree", "-r", "-z", "--full-tree", commit]))
    .filter((entry) => entry.startsWith("160000 "))
    .map((entry) => entry.slice(entry.indexOf("\t") + 1))
    .filter((path) => existsSync(join(git.folder, path, ".git")));
}

export interface RemovalResult {
  /** The branch that holds the work; undefined if the branch it started from has everything. */
  readonly kept: string | undefined;
}

/** Milliseconds. */
const REMOVE = 10 * 60_000;

/**
 * Removes a work tree. First everything in it becomes reachable from a branch. A branch that was made
 * for the session, and has nothing that the branch it started from does not have, is deleted. Each step
 * can be repeated, so an interrupted removal is completed by the next.
 */
export async function removeWorktree(
  { env }: { readonly env: NodeJS.ProcessEnv },
  place: Workplace,
): Promise<RemovalResult> {
  const { tree, repository } = place;
  if (!existsSync(repository)) {
    if (!existsSync(tree)) return { kept: undefined };
    // Without its repository a work tree has no history, and its files may be the only copy.
    const why = `its repository '${repository}' is gone. Move what you need, and delete the folder`;
    throw new TrunklineError("conflict", `Cannot remove the work tree '${tree}': ${why}.`);
  }
  const git = new Git(repository, { env, timeout: REMOVE });
  const saved = existsSync(join(tree, ".git")) ? await saveAll(git.in(tree), place) : undefined;
  // Fails where git does not know the work tree: its creation was interrupted.
  const remove = ["worktree", "remove", "--force", "--force", tree];
  await git.run(remove, { mode: "files", accepts: [0, 128, 255] });
  await rm(tree, { recursive: true, force: true });
  const left = await deleteUnlessNeeded(git, place);
  return { kept: saved ?? left };
}

/** Puts uncommitted work on a branch. Returns its name if that is not the session's branch. */
async function saveAll(git: Git, { tree, branch }: Workplace): Promise<string | undefined> {
  if (!(await isCheckedOut(git))) return undefined;
  const { head, commit } = await commitFiles(git, `Uncommitted work of ${branch}`);
  const nested = await nestedRepositories(git, commit);
  if (nested.length > 0) {
    const why = `it contains other repositories (${nested.join(", ")}), whose commits would be lost`;
    const next = "Push or move them, delete those folders, and try again";
    throw new TrunklineError("conflict", `Cannot remove '${tree}': ${why}. ${next}.`);
  }
  if (await isReachable(git, commit)) return undefined;
  if (head !== "" && (await currentBranch(git)) === branch) {
    await git.run(["update-ref", `${HEADS}${branch}`, commit, head], { mode: "files" });
    return undefined;
  }
  return await saveAs(git, `${branch}-saved`, commit);
}

/** Whether git has written the files. Before that, all of them would count as deleted. */
async function isCheckedOut(git: Git): Promise<boolean> {
  const gitDir = await git.text(["rev-parse", "--absolute-git-dir"], { accepts: [0, 128] });
  return gitDir !== "" && existsSync(join(gitDir, "index"));
}

/** Returns the session's branch, unless it is deleted. */
async function deleteUnlessNeeded(git: Git, place: Workplace): Promise<string | undefined> {
  const { branch, isOwnBranch, base } = place;
  if (!(await hasBranch(git, branch))) return undefined;
  if (!isOwnBranch || (await worktreesOf(git)).some((one) => one.branch === branch)) return branch;
  const ref = `${HEADS}${branch}`;
  const tip = await git.text(["rev-parse", ref]);
  const from = base.branch === undefined ? [] : [`${HEADS}${base.branch}`];
  for (const target of [base.revision, ...from]) {
    if (!(await isAncestor(git, tip, target))) continue;
    await git.run(["update-ref", "-d", ref, tip], { mode: "files" });
    return undefined;
  }
  return branch;
}
