import { existsSync } from "node:fs";

import { type ErrorCode, TrunklineError } from "../base/errors.ts";
import { type CommitProgram, landPrograms } from "../git/commit-programs.ts";
import { Git } from "../git/git.ts";
import type { Workplace } from "../session/workplace.ts";
import {
  commitFiles,
  currentBranch,
  hasBranch,
  HEADS,
  isAncestor,
  isBeingRebased,
  isBranchName,
  nestedRepositories,
  worktreesOf,
} from "./branches.ts";

export interface LandOptions {
  /** "merge": into a branch. "squash": as one commit on a branch. "branch": as another branch. */
  readonly how: "merge" | "squash" | "branch";
  /** The branch that gets the work; the one that the session started from if left out. */
  readonly into?: string | undefined;
  /** The title of the session, for messages of commits. */
  readonly title?: string | undefined;
  readonly env: NodeJS.ProcessEnv;
  /** The programs that git ran in the work tree when the session began. */
  readonly programs?: readonly CommitProgram[] | undefined;
  /** Asks whether programs that have changed since may run. */
  readonly allow: (changed: readonly CommitProgram[]) => Promise<boolean>;
}

export interface LandResult {
  /** "nothing": the branch has everything already. */
  readonly how: "nothing" | "fast-forward" | "merge" | "squash" | "branch";
  readonly into: string;
  readonly commit: string;
  /** Files were committed that the agent had not committed. */
  readonly committed: boolean;
}

/** Milliseconds. Hooks of commits may run tests. */
const LAND = 10 * 60_000;
/** How often the merge is done again because somebody else has moved the branch meanwhile. */
const ATTEMPTS = 5;

/**
 * Brings the work of a session to a branch. It is merged without touching a file first; only a merge
 * without conflicts moves the branch, and git itself moves it where it is checked out, which keeps
 * uncommitted changes there.
 */
export async function landWorktree(place: Workplace, options: LandOptions): Promise<LandResult> {
  const { tree, repository, branch } = place;
  if (!existsSync(tree)) {
    const next = `Its commits are on the branch '${branch}' of '${repository}'`;
    throw new TrunklineError("not-found", `The work tree '${tree}' is gone. ${next}.`);
  }
  const git = new Git(tree, { env: options.env, timeout: LAND });
  const own = (await currentBranch(git)) ?? "";
  if (own === "" && (await isBeingRebased(git, branch))) {
    throw refusal("conflict", `a rebase is in progress in '${tree}'. Finish or abort it first`);
  }
  await allowPrograms(git, options);
  const committed = await commitRest(git, place, options);
  const tip = await git.text(["rev-parse", "HEAD"]);
  if (options.how === "branch") {
    const into = options.into ?? branch;
    await makeBranch(git, into, tip);
    return { how: "branch", into, commit: tip, committed };
  }
  const into = options.into ?? place.base.branch;
  if (into === undefined) throw refusal("usage", "it started from no branch. Name one with --into");
  if (into === own) {
    const says = `the session itself works on '${into}'. Name another branch with --into`;
    throw refusal("usage", says);
  }
  const landed = await merge(git, { into, tip, place, options });
  if (own !== "" && landed.how !== "nothing") await follow(git, own, tip, landed);
  return { ...landed, into, committed };
}

/**
 * Hooks, filters and drivers run with the person's rights. The session may have changed those in its work
 * tree (`core.hooksPath` may name a folder there), so changed ones run only if the person agrees.
 */
async function allowPrograms(git: Git, { programs = [], allow }: LandOptions): Promise<void> {
  const keyOf = ({ name, command, digest }: CommitProgram): string =>
    JSON.stringify([name, command, digest]);
  const before = new Set(programs.map(keyOf));
  const changedNow = async (): Promise<CommitProgram[]> =>
    (await landPrograms(git)).filter((program) => !before.has(keyOf(program)));
  const changed = await changedNow();
  if (changed.length === 0) return;
  const isAllowed = await allow(changed);
  const names = changed.map(({ name, command }) => `${name} (${command})`).join(", ");
  if (!isAllowed) {
    throw refusal("untrusted", `programs that git runs have changed since it began: ${names}`);
  }
  if (changed.map(keyOf).join() === (await changedNow()).map(keyOf).join()) return;
  throw refusal(
    "conflict",
    "the programs that git runs have changed again since you were asked. Try again",
  );
}

/** Commits the files that the agent has left uncommitted, with hooks, as a person would. */
async function commitRest(git: Git, place: Workplace, options: LandOptions): Promise<boolean> {
  const conflicts = await git.list(["ls-files", "--unmerged", "-z"]);
  if (conflicts.length > 0) {
    const files = conflicts.map((entry) => entry.slice(entry.indexOf("\t") + 1));
    const names = [...new Set(files)].join(", ");
    const says = `files in '${git.folder}' have conflicts: ${names}. Resolve and commit them first`;
    throw refusal("conflict", says);
  }
  const message = options.title ?? `Work of ${place.branch}`;
  const { head, commit } = await commitFiles(git, message);
  if (head === commit) return false;
  await refuseNested(git, head, commit);
  const wip = `refs/trunkline/wip/${place.branch}`;
  await git.run(["update-ref", wip, commit], { mode: "files" });
  await git.run(["add", "--all"], { mode: "write" });
  try {
    await git.run(["commit", "--quiet", "-m", message], { mode: "write" });
  } catch (error) {
    const why = (error as Error).message;
    const says = `its uncommitted files cannot be committed: ${why}. They are kept in ${wip}`;
    throw refusal("conflict", says, error);
  }
  await git.run(["update-ref", "-d", wip], { mode: "files" });
  return true;
}

/** A repository that the session has created would become a submodule, which the person's git enters. */
async function refuseNested(git: Git, head: string, commit: string): Promise<void> {
  const known = head === "" ? [] : await nestedRepositories(git, head);
  const made = (await nestedRepositories(git, commit)).filter((path) => !known.includes(path));
  if (made.length === 0) return;
  const names = made.map((path) => `'${path}'`).join(", ");
  const says = `it has made a repository in ${names}. Have git ignore it, or remove its .git`;
  throw refusal("conflict", says);
}

/** Creates a branch, or moves an existing one forward. */
async function makeBranch(git: Git, name: string, tip: string): Promise<void> {
  if (!(await isBranchName(git, name))) {
    throw refusal("usage", `'${name.slice(0, 100)}' is no name for a branch`);
  }
  const old = (await hasBranch(git, name)) ? await git.text(["rev-parse", HEADS + name]) : "";
  if (old === tip) return;
  if (old !== "" && !(await isAncestor(git, old, tip))) {
    const next = `Name another one, or merge it with --into ${name}`;
    const says = `the branch '${name}' has commits that the session does not have. ${next}`;
    throw refusal("conflict", says);
  }
  await advance(git, name, old, tip);
}

interface Merge {
  readonly into: string;
  readonly tip: string;
  readonly place: Workplace;
  readonly options: LandOptions;
}

async function merge(git: Git, wanted: Merge): Promise<Pick<LandResult, "how" | "commit">> {
  const { into, tip } = wanted;
  if (!(await hasBranch(git, into))) throw refusal("not-found", `there is no branch '${into}'`);
  for (let attempt = 1; ; attempt++) {
    const old = await git.text(["rev-parse", `${HEADS}${into}`]);
    if (await isAncestor(git, tip, old)) return { how: "nothing", commit: old };
    const { how, commit } = await mergedCommit(git, wanted, old);
    try {
      await advance(git, into, old, commit);
      return { how, commit };
    } catch (error) {
      const isMoved = (await git.text(["rev-parse", `${HEADS}${into}`])) !== old;
      if (!isMoved || attempt === ATTEMPTS) throw error;
    }
  }
}

/** The commit that the branch is moved to. No ref names it yet. */
async function mergedCommit(
  git: Git,
  { into, tip, place, options }: Merge,
  old: string,
): Promise<Pick<LandResult, "how" | "commit">> {
  const isSquashed = options.how === "squash";
  if (!isSquashed && (await isAncestor(git, old, tip))) return { how: "fast-forward", commit: tip };
  const args = ["merge-tree", "--write-tree", "--name-only", "--no-messages", "-z", old, tip];
  const { code, stdout } = await git.run(args, { mode: "write", accepts: [0, 1] });
  const [tree = "", ...files] = stdout.toString("utf8").split("\0").filter(Boolean);
  if (code !== 0) {
    const names = [...new Set(files)].join(", ");
    const next = `In '${place.tree}' run \`git merge ${into}\`, resolve them, commit, and land again`;
    const says = `it conflicts with '${into}' in: ${names}. Nothing was changed. ${next}`;
    throw refusal("conflict", says);
  }
  const title = options.title ?? `Work of ${place.branch}`;
  const message = isSquashed ? title : `Merge branch '${place.branch}': ${title}`;
  const parents = isSquashed ? [old] : [old, tip];
  const signed = ["config", "--type=bool", "--get", "commit.gpgSign"];
  const isSigned = (await git.text(signed, { accepts: [0, 1] })) === "true";
  const commit = [
    ...["commit-tree", tree, ...parents.flatMap((each) => ["-p", each])],
    ...(isSigned ? ["-S"] : []),
    ...["-m", message],
  ];
  return {
    how: isSquashed ? "squash" : "merge",
    commit: await git.text(commit, { mode: "write" }),
  };
}

/** Moves a branch forward; where it is checked out, with its files. */
async function advance(git: Git, branch: string, old: string, commit: string): Promise<void> {
  const at = (await worktreesOf(git)).find((one) => one.branch === branch && existsSync(one.path));
  if (at === undefined) {
    if (await isBeingRebased(git, branch)) {
      throw refusal("conflict", `a rebase of '${branch}' is in progress. Finish or abort it first`);
    }
    await git.run(["update-ref", "-m", "trunkline: land", HEADS + branch, commit, old], {
      mode: "files",
    });
    return;
  }
  try {
    await git.in(at.path).run(["merge", "--ff-only", "--quiet", commit], { mode: "write" });
  } catch (error) {
    const { message } = error as Error;
    // Git lists files that it would overwrite, each after a tab.
    const files = Array.from(message.matchAll(/^\t(.+)$/gm), ([, file]) => file);
    const why =
      files.length === 0 ? message : `uncommitted changes are in the way: ${files.join(", ")}`;
    const next = "Nothing was changed there. Commit or remove them, and land again";
    const says = `'${branch}' is checked out in '${at.path}', and git cannot update it: ${why}`;
    throw refusal("conflict", `${says}. ${next}`, error);
  }
}

function refusal(code: ErrorCode, why: string, cause?: unknown): TrunklineError {
  return new TrunklineError(code, `Cannot land the session: ${why}.`, { cause });
}

/** Moves the session's own branch to the landed commit, so that its next work builds on that. */
async function follow(
  git: Git,
  own: string,
  tip: string,
  { how, commit }: Pick<LandResult, "how" | "commit">,
): Promise<void> {
  if (how === "squash") {
    // The single commits stay, under a ref that branches do not show.
    const ref = `refs/trunkline/squashed/${own}/${tip.slice(0, 12)}`;
    await git.run(["update-ref", ref, tip], { mode: "files" });
    await git.run(["reset", "--keep", "--quiet", commit], { mode: "files" });
  } else if (how === "merge") {
    await git.run(["merge", "--ff-only", "--quiet", commit], { mode: "write" });
  }
}
