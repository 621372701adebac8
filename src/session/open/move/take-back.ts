import { rm } from "node:fs/promises";
import { basename, join, relative } from "node:path";

import { TrunklineError } from "../../../base/errors.ts";
import type { MovedWork } from "../../../store/schema.gen.ts";
import { hasBranch, HEADS } from "../../../worktree/branches.ts";
import { writeRecord } from "../../../worktree/worktrees.ts";
import type { Workplace } from "../../workplace.ts";
import { captureWork, commitOf, FILES, layOut, setHead, setIndex, type Shadow } from "./work.ts";

export interface TakeBack {
  readonly session: string;
  /** The work as it left. */
  readonly left: MovedWork;
  /** The work as it returns. */
  readonly work: MovedWork;
  /** The folder of ours for a work tree, where the work cannot be put into the one that it left. */
  readonly beside: string;
  /** The folder in which the session worked. */
  readonly folder: string;
}

/** Where the work is now. */
export interface ReturnedWork {
  readonly folder: string;
  /** The work tree of the session, if it has one of its own. */
  readonly place?: Workplace | undefined;
  /** What a person has to know. */
  readonly says: readonly string[];
}

/**
 * Puts work back into the work tree that it left. What has changed there meanwhile is merged by git. Where
 * that has conflicts, or something else than files has changed, nothing is touched and the work gets a work
 * tree beside. It can be repeated after a kill.
 */
export async function takeBack(shadow: Shadow, back: TakeBack): Promise<ReturnedWork> {
  const { git, call } = shadow;
  const { left, work } = back;
  const treesOf = async (...commits: string[]): Promise<string[]> =>
    (await git.text(["rev-parse", ...commits.map((each) => `${each}^{tree}`)], call)).split("\n");
  let isMerged = false;
  try {
    const here = await captureWork(shadow, "", [...work.carried, ...left.carried]);
    const [stagedHere, ...staged] = await treesOf(here.index, left.index, work.index);
    if (here.branch !== left.branch || work.branch !== left.branch) {
      throw conflict("another branch is checked out");
    }
    if (![left.head, work.head].includes(here.head)) throw conflict("there are other commits");
    if (!staged.includes(stagedHere ?? "")) throw conflict("other files are staged");
    await git.run(["update-ref", `refs/heads/before-${Date.now()}`, here.tree], call);
    const [before = "", now = "", then = ""] = await treesOf(left.tree, here.tree, work.tree);
    isMerged = before !== now;
    // Only commits with a common ancestor are merged before git 2.40.
    const base = await commitOf(shadow, before, []);
    const sides = [await commitOf(shadow, now, [base]), await commitOf(shadow, then, [base])];
    const merge = ["merge-tree", "--write-tree", "--name-only", "--no-messages", "-z", ...sides];
    const mode = { ...call, mode: "write", accepts: [0, 1] } as const;
    const { code, stdout } = await git.run(merge, mode);
    const [tree = "", ...files] = stdout.toString("utf8").split("\0").filter(Boolean);
    if (code !== 0) throw conflict(`both sides have changed ${[...new Set(files)].join(", ")}`);
    // Git looks at all files before it changes one: somebody may just have written there.
    await git.run(["read-tree", "-m", "-u", here.tree, tree], call);
  } catch (error) {
    if (!(error instanceof TrunklineError)) throw error;
    return await putBeside(shadow, back, error.message.replace(/\.$/, ""));
  }
  if (work.head !== "") await setHead(git, work.branch, work.head);
  await setIndex(git, work.index);
  const says = isMerged ? ["What changed here meanwhile was merged."] : [];
  return { folder: back.folder, says };
}

function conflict(why: string): TrunklineError {
  return new TrunklineError("conflict", why);
}

/** Gives the work a work tree of its own, in the same repository. */
async function putBeside(shadow: Shadow, back: TakeBack, why: string): Promise<ReturnedWork> {
  const { git, call } = shadow;
  const { session, left, work, beside, folder } = back;
  const tree = join(beside, basename(git.folder));
  await rm(tree, { recursive: true, force: true });
  await git.run(["worktree", "prune"], FILES);
  const name = `trunkline/returned-${session.slice(0, 8)}`;
  let branch = name;
  for (let count = 2; await hasBranch(git, branch); count++) branch = `${name}-${count}`;
  const add = ["worktree", "add", "--force", "--no-checkout", "--quiet", "--no-track"];
  await git.run([...add, "-b", branch, tree, work.head || work.tree], FILES);
  // Before the first commit there is no branch yet.
  if (work.head === "") await git.run(["update-ref", "-d", HEADS + branch], FILES);
  const env = { ...call.env, GIT_WORK_TREE: tree };
  await layOut({ git: git.in(tree), call: { ...call, env } }, { ...work, branch });
  const place: Workplace = {
    folder: join(tree, relative(git.folder, folder)),
    ...{ tree, repository: git.folder, branch, isOwnBranch: true, warnings: [] },
    base: { revision: left.head, ...(left.branch === "" ? {} : { branch: left.branch }) },
  };
  await writeRecord(beside, place);
  const next = `Nothing was changed in '${git.folder}'. The session goes on in '${tree}', on the branch '${branch}'`;
  const says = [`Its work could not be put back: ${why}. ${next}; merge it with git.`];
  return { folder: place.folder, place, says };
}
