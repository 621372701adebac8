import { existsSync, mkdirSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import type { Confine } from "../../base/process/child-process.ts";
import { TrunklineError } from "../../base/errors.ts";
import { Git } from "../git.ts";
import { GITLINK, type IndexEntry, parseIndex } from "../index-entries.ts";
import { applyPlan, type Plan, PLAN, type RefChange } from "./apply-plan.ts";
import { fileIn, MOST_INDEX, STATE_FILES, stateFiles, textIn } from "./git-files.ts";
import { takeLfsObjects } from "./lfs-objects.ts";
import { changedPaths, NEW_GITLINK } from "./merge-index.ts";
import { type Inside, parseLog, readInside } from "./read-inside.ts";
import { INCOMING, receiveObjects } from "./receive-objects.ts";
import { ID, refProblem, ZERO } from "./refs.ts";
import { safeSettings } from "./safe-settings.ts";
import { baseIndex, changedFiles, OPERATIONS, type Shadow } from "./shadow-folder.ts";

/** Bytes of an index of some 400,000 files. */
const USUAL_INDEX = 32 * 1024 * 1024;

/** What became of what a command did with git. */
export interface TakenOver {
  /** "unfinished": a rebase or the like goes on with the next command. */
  readonly state: "done" | "unfinished";
  /** What was not taken over, and why. */
  readonly notes: readonly string[];
}

/**
 * Takes over what a command did with git: checks it, and changes the person's repository accordingly.
 * Throws "untrusted" where nothing can be taken over, and something else where it can be tried again.
 */
export async function takeOver(shadow: Shadow, confine: Confine): Promise<TakenOver> {
  const { work, base, own, repository } = shadow;
  const isOwn = shadow.before.size > 0;
  if (existsSync(join(work, PLAN))) return { state: "done", notes: await applyPlan(work) };
  const changed = changedFiles(shadow);
  const state = stateOf(shadow, changed);
  if (changed.length === 0) return { state: shadow.isAdopted ? state : "done", notes: [] };
  if (state === "unfinished") {
    const why =
      "an operation such as a rebase is unfinished. Your repository stays where it was until";
    return { state, notes: [`${why} a command finishes or aborts it`] };
  }
  const found = baseIndex(shadow);
  const [before, after] = [parseIndex(found), readIndex(shadow, found)];
  const paths = changedPaths(before, after);
  const isOnlyIndex = isOwn && changed.every((path) => path.endsWith("/index"));
  if (isOnlyIndex && paths.length === 0 && !shadow.isAdopted) return { state, notes: [] };
  const blobs = newBlobs(paths, before, after);
  const known = idsOf(shadow);
  const inside = await readInside(shadow, confine, { known, needed: blobs });
  const notes: string[] = [];
  const head = headChange(shadow, notes);
  const changes = {
    refs: refChanges(shadow, inside, notes),
    symbolic: symbolicChanges(shadow, inside, notes),
    stash: stashChange(shadow, inside),
    files: fileChanges(shadow),
    log: inside.log,
    ...(head === undefined ? {} : { head }),
  };
  const git = new Git(repository.top);
  const tips = [...idsIn(changes).difference(known)];
  const wanted = tips.length > 0 ? tips : blobs.slice(0, 1);
  const { incoming } = base;
  if (wanted.length > 0) {
    await receiveObjects(git, repository.commonDir, inside.pack, wanted, incoming);
  }
  await requireBlobs(git, blobs);
  await takeLfsObjects(shadow, changed);
  if (changed.some((path) => NOT_KEPT.test(path) && !shadow.before.has(path))) {
    notes.push("work trees and submodules that a command adds are not kept: ask the person to");
  }
  const plan: Plan = {
    ...{ top: repository.top, gitDir: repository.gitDir, commonDir: repository.commonDir },
    ...changes,
    incoming,
    settings: await safeSettings(git, repository, inside.config, notes),
    finished: base.operations.filter((name) => !existsSync(join(own, name))),
    hasIndex: paths.length > 0,
    isKeptOnly: await addsGitlink(git, tips),
  };
  if (plan.isKeptOnly) notes.push(`a path in its commits is not taken over: ${NEW_GITLINK}`);
  writePlan(shadow, plan);
  notes.push(...(await applyPlan(work)));
  return { state, notes };
}

/** Whether a rebase or the like that the person did not begin goes on. */
function stateOf(
  { own, common, base, isAdopted }: Shadow,
  changed: readonly string[],
): TakenOver["state"] {
  const folder = own === common ? "common" : "own";
  const isUnfinished = OPERATIONS.some((name) => {
    if (!existsSync(join(own, name))) return false;
    const path = `${folder}/${name}`;
    const isTouched = changed.some((file) => file === path || file.startsWith(`${path}/`));
    return isAdopted || isTouched || !base.operations.includes(name);
  });
  return isUnfinished ? "unfinished" : "done";
}

/** A larger one would keep this process busy for long. */
function readIndex({ own }: Shadow, before: Buffer | undefined): Map<string, IndexEntry> {
  try {
    return parseIndex(fileIn(own, "index", Math.max(USUAL_INDEX, 2 * (before?.length ?? 0))));
  } catch (error) {
    const says = `its index cannot be read: ${(error as Error).message}`;
    throw new TrunklineError("untrusted", says, { cause: error });
  }
}

function newBlobs(
  paths: readonly string[],
  before: ReadonlyMap<string, IndexEntry>,
  after: ReadonlyMap<string, IndexEntry>,
): string[] {
  const known = new Set(before.values().map(({ id }) => id));
  const entries = paths.flatMap((path) =>
    [0, 1, 2, 3].flatMap((stage) => after.get(`${path}\0${stage}`) ?? []),
  );
  const isNew = ({ id, mode }: IndexEntry): boolean => mode !== GITLINK && !known.has(id);
  return [...new Set(entries.filter(isNew).map(({ id }) => id))];
}

/** The ids that the repository had already. */
function idsOf({ base }: Shadow): Set<string> {
  const head = ID.test(base.head) ? [base.head] : [];
  return new Set([...base.refs.ids.values(), ...parseLog(base.stash).map(({ id }) => id), ...head]);
}

/** What git has of a work tree, or of a submodule, that was added. */
const NOT_KEPT = /^common\/(?:worktrees\/[^/]+\/gitdir|modules\/.+\/HEAD)$/;

type Changes = Pick<Plan, "refs" | "head" | "stash" | "files" | "log">;

function idsIn({ refs, head, stash, files, log }: Changes): Set<string> {
  const ids = [
    ...refs.map((ref) => ref.new),
    ...(head === undefined ? [] : [head.new]),
    ...stash.added.map(({ id }) => id),
    ...Object.values(files).flatMap((file) => file.new?.match(/^[0-9a-f]{40}$/gm) ?? []),
    ...(files.FETCH_HEAD?.new?.match(/^[0-9a-f]{40}/gm) ?? []),
    ...log.map(({ id }) => id),
  ];
  return new Set(ids.filter((id) => ID.test(id) && id !== ZERO));
}

function refChanges({ base }: Shadow, inside: Inside, notes: string[]): RefChange[] {
  const changes: RefChange[] = [];
  for (const name of new Set([...base.refs.ids.keys(), ...inside.refs.keys()])) {
    const [old, id] = [base.refs.ids.get(name) ?? ZERO, inside.refs.get(name) ?? ZERO];
    // The stash is a list, which its reflog has.
    if (old === id || name === "refs/stash" || inside.symbolic.has(name)) continue;
    const why = refProblem(name);
    if (why === undefined) changes.push({ name, old, new: id });
    else if (!OF_OPERATIONS.test(name))
      notes.push(`'${name.slice(0, 200)}' is not taken over: ${why}`);
  }
  return changes;
}

/** A remote may say which of its branches is the main one. */
function symbolicChanges({ base }: Shadow, inside: Inside, notes: string[]): Plan["symbolic"] {
  return [...inside.symbolic].filter(([name, target]) => {
    if (base.refs.symbolic.get(name) === target) return false;
    const [remote] = /^refs\/remotes\/[\w.-]+\/(?=HEAD$)/.exec(name) ?? [];
    if (remote !== undefined && target.startsWith(remote) && refProblem(target) === undefined) {
      return true;
    }
    notes.push(`'${name.slice(0, 200)}' is not taken over: it names another ref`);
    return false;
  });
}

/** Refs that go with a rebase or a bisection. */
const OF_OPERATIONS = /^refs\/(?:bisect|rewritten)\//;

function headChange({ base, own }: Shadow, notes: string[]): Plan["head"] {
  const now = textIn(own, "HEAD")?.trim() ?? "";
  if (now === base.head) return undefined;
  const [, branch] = /^ref: (refs\/heads\/.+)$/s.exec(now) ?? [];
  if (ID.test(now) || (branch !== undefined && refProblem(branch) === undefined)) {
    return { old: base.head, new: now };
  }
  notes.push("HEAD is not taken over: it names neither a branch nor a commit");
  return undefined;
}

function stashChange({ base }: Shadow, { stash }: Inside): Plan["stash"] {
  const old = new Set(parseLog(base.stash).map(({ id }) => id));
  const now = new Set(stash.map(({ id }) => id));
  return { dropped: [...old.difference(now)], added: stash.filter(({ id }) => !old.has(id)) };
}

/** What the files of a merge and the like may hold; ids where nothing is said. */
const CONTENT: Readonly<Record<string, RegExp>> = {
  MERGE_MODE: /^(?:no-ff)?\n?$/,
  MERGE_MSG: /^[^\0]*$/,
  SQUASH_MSG: /^[^\0]*$/,
  FETCH_HEAD: /^(?:[0-9a-f]{40}\t(?:not-for-merge)?\t[^\0\n]*\n)*$/,
};
const IDS = /^(?:[0-9a-f]{40}\n)*$/;

function fileChanges({ base, own }: Shadow): Plan["files"] {
  const now = stateFiles(own);
  return Object.fromEntries(
    STATE_FILES.flatMap((name) => {
      const [old = null, content = null] = [base.files[name], now[name]];
      if (old === content || !(CONTENT[name] ?? IDS).test(content ?? "")) return [];
      return [[name, { old, new: content }] as const];
    }),
  );
}

/** Each blob of the index must be there: a repository with one that is missing is damaged. */
async function requireBlobs(git: Git, ids: readonly string[]): Promise<void> {
  if (ids.length === 0) return;
  const input = ids.map((id) => `${id}\n`).join("");
  const { stdout } = await git.run(["cat-file", "--batch-check"], { input });
  const lines = stdout.toString("utf8").trimEnd().split("\n");
  const missing = lines.find((line) => !/^[0-9a-f]{40} blob /.test(line));
  if (missing === undefined) return;
  throw new TrunklineError("untrusted", `its index names an object that is not there: ${missing}`);
}

/** Whether a commit that is new has a submodule where none of its parents has one. */
async function addsGitlink(git: Git, tips: readonly string[]): Promise<boolean> {
  if (tips.length === 0) return false;
  const known = [`--exclude=${INCOMING}/*`, "--all"];
  const list = ["rev-list", "--ignore-missing", ...tips, "--not", ...known];
  const commits = await git.run(list);
  if (commits.stdout.length === 0) return false;
  const diff = ["diff-tree", "--stdin", "-r", "-c", "--root", "--raw", "-z", "--no-renames"];
  const { stdout } = await git.run(diff, { input: commits.stdout });
  // git-diff-tree(1): `:OLD NEW …`, and for merges a colon and an old mode for each parent.
  const lines = stdout
    .toString("latin1")
    .split("\0")
    .filter((line) => line.startsWith(":"));
  return lines.some((line) => {
    const count = /^:+/.exec(line)?.[0].length ?? 1;
    const modes = line.slice(count).split(" ", count + 1);
    return modes.at(-1) === "160000" && !modes.slice(0, -1).includes("160000");
  });
}

/** On disk before the first step, so that the rest is done after this process was killed. */
function writePlan({ work, own }: Shadow, plan: Plan): void {
  const [folder, next] = [join(work, PLAN), join(work, `${PLAN}.new`)];
  mkdirSync(next, { recursive: true });
  const index = fileIn(own, "index", MOST_INDEX);
  if (index !== undefined) writeFileSync(join(next, "index"), index, { flush: true });
  writeFileSync(join(next, "plan.json"), JSON.stringify(plan), { flush: true });
  renameSync(next, folder);
}
