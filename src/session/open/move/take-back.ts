import { rm } from "node:fs/promises";
import { basename, join, relative } from "node:path";

import { TrunklineError } from "../../../base/errors.ts";
import type { Git } from "../../../git/git.ts";
import { hasBranch, HEADS } from "../../../worktree/branches.ts";
import { writeRecord } from "../../../worktree/worktrees.ts";
import type { Workplace } from "../../workplace.ts";
import { captureWork, commitOf, layOut, setIndex, type Work, workRef, writeRaw } from "./work.ts";

const FILES = { mode: "files" } as const;

export interface TakeBack {
  readonly session: string;
  /** The work as it left. */
  readonly left: Work;
  /** The work as it returns. */
  readonly work: Work;
  /** Ignored files that went along. */
  readonly carried: readonly string[];
  /** The folder of ours for a work tree, where the work cannot be put into the one that it left. */
  readonly beside: string;
  /** The folder in which the session worked. */
  readonly folder: string;
}

/** Where the work is now. */
interface Returned {
  /** The work tree beside the one that it left; undefined where it is in that. */
  readonly place: Workplace | undefined;
  /** What a person has to know. */
  readonly says: string[];
}

/**
 * Puts work back into the work tree that it left. What has changed there meanwhile is merged by git. Where
 * that has conflicts, or something else than files has changed, nothing is touched and the work gets a work
 * tree beside. It can be repeated after a kill.
 */
export async function takeBack(git: Git, back: TakeBack): Promise<Returned> {
  const { session, left, work } = back;
  const why = await merged(git, back).catch((error: unknown) => {
    if (error instanceof TrunklineError) return error.message;
    throw error;
  });
  if (typeof why === "string") return await putBeside(git, back, why);
  const { here, tree } = why;
  const index = join(await git.text(["rev-parse", "--absolute-git-dir"]), `index-${session}`);
  const env = { GIT_INDEX_FILE: index };
  try {
    await git.run(["read-tree", here.tree], { ...FILES, env });
    await git.run(["update-index", "-q", "--refresh"], { ...FILES, env, accepts: [0, 1] });
    await git.run(["read-tree", "-m", "-u", here.tree, tree], { ...FILES, env });
  } catch (error) {
    // Git has looked at all files before it changes one: somebody has just written there.
    return await putBeside(git, back, (error as Error).message);
  } finally {
    await rm(index, { force: true });
    await rm(`${index}.lock`, { force: true });
  }
  await writeRaw(git, here.tree, tree);
  const { branch, head } = work;
  if (head !== "") {
    const ref = branch === "" ? ["--no-deref", "HEAD"] : [`${HEADS}${branch}`];
    await git.run(["update-ref", "-m", "trunkline: move", ...ref, head], FILES);
  }
  await setIndex(git, work.index);
  const isMerged = !(await isSame(git, here.tree, left.tree));
  const says = `What changed here meanwhile was merged; it is kept in ${workRef(`${session}-before`)}.`;
  return { place: undefined, says: isMerged ? [says] : [] };
}

/** The files as they are to be, or why they cannot be merged. */
async function merged(
  git: Git,
  { session, left, work, carried }: TakeBack,
): Promise<{ readonly here: Work; readonly tree: string } | string> {
  const here = await captureWork(git, carried);
  if (here.branch !== left.branch || work.branch !== left.branch) {
    return "another branch is checked out";
  }
  if (here.head !== left.head && here.head !== work.head) return "there are other commits";
  const isKnown = await isSame(git, here.index, left.index);
  if (!isKnown && !(await isSame(git, here.index, work.index))) return "other files are staged";
  await git.run(["update-ref", workRef(`${session}-before`), here.tree], FILES);
  if (await isSame(git, here.tree, left.tree)) return { here, tree: work.tree };
  // Only commits with a common ancestor are merged before git 2.40.
  const treeOf = (commit: string): Promise<string> => git.text(["rev-parse", `${commit}^{tree}`]);
  const base = await commitOf(git, await treeOf(left.tree), []);
  const ours = await commitOf(git, await treeOf(here.tree), [base]);
  const theirs = await commitOf(git, await treeOf(work.tree), [base]);
  const args = ["merge-tree", "--write-tree", "--name-only", "--no-messages", "-z", ours, theirs];
  const { code, stdout } = await git.run(args, { mode: "write", accepts: [0, 1] });
  const [tree = "", ...files] = stdout.toString("utf8").split("\0").filter(Boolean);
  if (code !== 0) return `both sides have changed ${[...new Set(files)].join(", ")}`;
  return { here, tree };
}

async function isSame(git: Git, one: string, other: string): Promise<boolean> {
  const ids = await git.text(["rev-parse", `${one}^{tree}`, `${other}^{tree}`]);
  const [first, second] = ids.split("\n");
  return first === second;
}

/** Gives the work a work tree of its own, in the same repository. */
async function putBeside(git: Git, back: TakeBack, why: string): Promise<Returned> {
  const { session, left, work, beside, folder } = back;
  const tree = join(beside, basename(git.folder));
  await rm(tree, { recursive: true, force: true });
  await git.run(["worktree", "prune"], FILES);
  const name = `trunkline/returned-${session.slice(0, 8)}`;
  for (let count = 1, branch = name; ; branch = `${name}-${++count}`) {
    if (await hasBranch(git, branch)) continue;
    const add = ["worktree", "add", "--force", "--no-checkout", "--quiet", "--no-track"];
    await git.run([...add, "-b", branch, tree, work.head], FILES);
    await layOut(git.in(tree), { ...work, branch });
    const place: Workplace = {
      folder: join(tree, relative(git.folder, folder)),
      ...{ tree, repository: git.folder, branch, isOwnBranch: true, warnings: [] },
      base: { revision: left.head, ...(left.branch === "" ? {} : { branch: left.branch }) },
    };
    await writeRecord(beside, place);
    const next = `Nothing was changed in '${git.folder}'. The session goes on in '${tree}', on the branch '${branch}'`;
    return { place, says: [`Its work could not be put back: ${why}. ${next}; merge it with git.`] };
  }
}
