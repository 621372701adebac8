import { createHash } from "node:crypto";
import { constants, existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { open } from "node:fs/promises";
import { dirname, join } from "node:path";

import { TrunklineError } from "../../base/errors.ts";
import type { Confiner } from "../../base/process/child-process.ts";
import { parseConfigList } from "../config/git-config.ts";
import { Git } from "../git.ts";
import { GITLINK, type IndexEntry, parseIndex } from "../index-entries.ts";
import {
  applyPlan,
  changedPaths,
  NEW_GITLINK,
  type TakeOverPlan,
  PLAN,
  type RefChange,
} from "./apply-plan.ts";
import {
  fileIn,
  ID,
  MOST_INDEX,
  refProblem,
  STATE_FILES,
  stateFiles,
  textIn,
  ZERO,
} from "./git-files.ts";
import type { KnownRepository } from "./known-repositories.ts";
import { type ShadowContent, parseLog, readInside } from "./read-inside.ts";
import { INCOMING, receiveObjects } from "./receive-objects.ts";
import { baseIndex, changedFiles, OPERATIONS, type Shadow } from "./shadow-folder.ts";

/** Bytes of an index of some 400,000 files. */
const USUAL_INDEX = 32 * 1024 * 1024;

/** The result of taking over what a command did with git. */
interface TakeOverResult {
  /** "unfinished": an operation such as a rebase continues with the next command. */
  readonly state: "done" | "unfinished";
  /** What was not taken over, and why. */
  readonly notes: readonly string[];
}

/**
 * Takes over what a command did with git: checks it, and changes the person's repository accordingly.
 * Throws "untrusted" if nothing can be taken over, and another error if a retry may help.
 */
export async function takeOver(shadow: Shadow, confine: Confiner): Promise<TakeOverResult> {
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
  const plan: TakeOverPlan = {
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

/** Whether an operation such as a rebase is unfinished that the person did not begin. */
function stateOf(
  { own, common, base, isAdopted }: Shadow,
  changed: readonly string[],
): TakeOverResult["state"] {
  const folder = own === common ? "common" : "own";
  const isUnfinished = OPERATIONS.some((name) => {
    if (!existsSync(join(own, name))) return false;
    const path = `${folder}/${name}`;
    const isTouched = changed.some((file) => file === path || file.startsWith(`${path}/`));
    return isAdopted || isTouched || !base.operations.includes(name);
  });
  return isUnfinished ? "unfinished" : "done";
}

/** A larger index would block this process for too long. */
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

/** Git's own files of a work tree or submodule that was added. */
const NOT_KEPT = /^common\/(?:worktrees\/[^/]+\/gitdir|modules\/.+\/HEAD)$/;

type ShadowChanges = Pick<TakeOverPlan, "refs" | "head" | "stash" | "files" | "log">;

function idsIn({ refs, head, stash, files, log }: ShadowChanges): Set<string> {
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

function refChanges({ base }: Shadow, inside: ShadowContent, notes: string[]): RefChange[] {
  const changes: RefChange[] = [];
  for (const name of new Set([...base.refs.ids.keys(), ...inside.refs.keys()])) {
    const [old, id] = [base.refs.ids.get(name) ?? ZERO, inside.refs.get(name) ?? ZERO];
    // The stash is a list, which is stored in its reflog.
    if (old === id || name === "refs/stash" || inside.symbolic.has(name)) continue;
    const why = refProblem(name);
    if (why === undefined) changes.push({ name, old, new: id });
    else if (!OF_OPERATIONS.test(name))
      notes.push(`'${name.slice(0, 200)}' is not taken over: ${why}`);
  }
  return changes;
}

/** A remote may say which of its branches is the main one. */
function symbolicChanges(
  { base }: Shadow,
  inside: ShadowContent,
  notes: string[],
): TakeOverPlan["symbolic"] {
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

/** Refs that exist only during a rebase or a bisection. */
const OF_OPERATIONS = /^refs\/(?:bisect|rewritten)\//;

function headChange({ base, own }: Shadow, notes: string[]): TakeOverPlan["head"] {
  const now = textIn(own, "HEAD")?.trim() ?? "";
  if (now === base.head) return undefined;
  const [, branch] = /^ref: (refs\/heads\/.+)$/s.exec(now) ?? [];
  if (ID.test(now) || (branch !== undefined && refProblem(branch) === undefined)) {
    return { old: base.head, new: now };
  }
  notes.push("HEAD is not taken over: it names neither a branch nor a commit");
  return undefined;
}

function stashChange({ base }: Shadow, { stash }: ShadowContent): TakeOverPlan["stash"] {
  const old = new Set(parseLog(base.stash).map(({ id }) => id));
  const now = new Set(stash.map(({ id }) => id));
  return { dropped: [...old.difference(now)], added: stash.filter(({ id }) => !old.has(id)) };
}

/** The allowed content of the files of a merge and similar operations; by default an id. */
const CONTENT: Readonly<Record<string, RegExp>> = {
  MERGE_MODE: /^(?:no-ff)?\n?$/,
  MERGE_MSG: /^[^\0]*$/,
  SQUASH_MSG: /^[^\0]*$/,
  FETCH_HEAD: /^(?:[0-9a-f]{40}\t(?:not-for-merge)?\t[^\0\n]*\n)*$/,
};
const IDS = /^(?:[0-9a-f]{40}\n)*$/;

function fileChanges({ base, own }: Shadow): TakeOverPlan["files"] {
  const now = stateFiles(own);
  return Object.fromEntries(
    STATE_FILES.flatMap((name) => {
      const [old = null, content = null] = [base.files[name], now[name]];
      if (old === content || !(CONTENT[name] ?? IDS).test(content ?? "")) return [];
      return [[name, { old, new: content }] as const];
    }),
  );
}

/** Each blob of the index must exist; otherwise the repository would be damaged. */
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
  const commits = await git.run(["rev-list", "--ignore-missing", ...tips, "--not", ...known]);
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

/** Written to disk before the first step, so that the rest can be done if this process is killed. */
function writePlan({ work, own }: Shadow, plan: TakeOverPlan): void {
  const [folder, next] = [join(work, PLAN), join(work, `${PLAN}.new`)];
  mkdirSync(next, { recursive: true });
  const index = fileIn(own, "index", MOST_INDEX);
  if (index !== undefined) writeFileSync(join(next, "index"), index, { flush: true });
  writeFileSync(join(next, "plan.json"), JSON.stringify(plan), { flush: true });
  renameSync(next, folder);
}

/** Git LFS names files by the hash of their content. */
const OBJECT = /^common\/(lfs\/objects\/[0-9a-f]{2}\/[0-9a-f]{2}\/([0-9a-f]{64}))$/;

/** Copies files that a command has added to Git LFS: commits contain only their hashes. */
async function takeLfsObjects(shadow: Shadow, changed: readonly string[]): Promise<void> {
  for (const path of changed) {
    const [, name, digest] = OBJECT.exec(path) ?? [];
    if (name === undefined || digest === undefined) continue;
    const target = join(shadow.repository.commonDir, name);
    if (existsSync(target)) continue;
    mkdirSync(dirname(target), { recursive: true });
    const copy = `${target}.trunkline-${crypto.randomUUID()}`;
    try {
      if ((await copyHashed(join(shadow.common, name), copy)) !== digest) {
        throw new TrunklineError("untrusted", `its LFS object '${digest}' has other content`);
      }
      renameSync(copy, target);
    } finally {
      rmSync(copy, { force: true });
    }
  }
}

/** No folder on the way is a link: what is not a file or a folder was refused before. */
async function copyHashed(from: string, to: string): Promise<string> {
  const hash = createHash("sha256");
  const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = constants;
  await using source = await open(from, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  await using target = await open(to, "wx", 0o444);
  for await (const chunk of source.createReadStream({ autoClose: false })) {
    hash.update(chunk as Buffer);
    await target.writeFile(chunk as Buffer);
  }
  return hash.digest("hex");
}

/**
 * Addresses that start no other program than ssh and git's own helpers. No paths: a command may have made
 * the repository there, and a push would run its hooks.
 */
const ADDRESS = /^(?:(?:https?|ssh|git):\/\/[\w.~/:@%+-]+|[\w.-]+@[\w.-]+:[\w.~/+-]+)$/;
const MOST_NAMED = 5;

/**
 * The settings of a command that are taken over: which branch of a known remote a new branch follows, and
 * the remotes of a repository that had no settings. Null stands for a section of a branch that is removed.
 * Other settings are named in `notes`: many make git run programs.
 */
async function safeSettings(
  git: Git,
  { commonDir }: KnownRepository,
  now: ReadonlyMap<string, string>,
  notes: string[],
): Promise<[string, string | null][]> {
  const list = ["config", "--file", join(commonDir, "config"), "--no-includes", "-z", "--list"];
  const { stdout } = await git.run(list, { accepts: [0, 1] });
  const before = new Map(
    parseConfigList(stdout.toString("utf8")).map(({ key, value }) => [key, value ?? "true"]),
  );
  const isFresh = ![...before.keys()].some((key) => !key.startsWith("core."));
  const remotes = new Set([...before.keys()].map((key) => REMOTE.exec(key)?.[1] ?? ""));
  // Git treats the name of a remote without an address as a path.
  for (const [key, value] of isFresh ? now : [])
    if (ADDRESS.test(value)) remotes.add(REMOTE.exec(key)?.[1] ?? "");
  const sectionOf = (key: string): string => key.slice(0, key.lastIndexOf("."));
  const sections = new Set([...now.keys()].map(sectionOf));
  const isGone = (section: string): boolean => /^branch\../.test(section) && !sections.has(section);
  const gone = new Set([...before.keys()].map(sectionOf).filter(isGone));
  const taken: [string, string | null][] = [...gone].map((section) => [section, null]);
  const left: string[] = [];
  for (const [key, value] of now) {
    if (before.get(key) === value) continue;
    if (!before.has(key) && isSafe(key, value, remotes, isFresh)) taken.push([key, value]);
    else if (!isFresh || !key.startsWith("core.")) left.push(key);
  }
  if (left.length > 0) {
    const keys = left.slice(0, MOST_NAMED).map((key) => `'${key.slice(0, 100)}'`);
    const more = left.length > MOST_NAMED ? " and others" : "";
    notes.push(`settings are not for commands to change. Ask for ${keys.join(", ")}${more}`);
  }
  return taken;
}

const REMOTE = /^remote\.([\w.-]+)\.url$/s;

function isSafe(
  key: string,
  value: string,
  remotes: ReadonlySet<string>,
  isFresh: boolean,
): boolean {
  const [, branch, field] = /^branch\.(.+)\.(remote|merge)$/s.exec(key) ?? [];
  if (branch !== undefined && refProblem(`refs/heads/${branch}`) === undefined) {
    if (field === "remote") return value === "." || (value !== "" && remotes.has(value));
    return value.startsWith("refs/heads/") && refProblem(value) === undefined;
  }
  const [, remote = "", what] = /^remote\.([\w.-]+)\.(url|fetch)$/s.exec(key) ?? [];
  if (!isFresh || !remotes.has(remote) || remote.startsWith("-")) return false;
  if (what === "url") return ADDRESS.test(value);
  return value === `+refs/heads/*:refs/remotes/${remote}/*`;
}
