import {
  appendFileSync,
  linkSync,
  lstatSync,
  readdirSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";

import { TrunklineError } from "../../base/errors.ts";
import { isRepositoryPath } from "../../base/file/repository-path.ts";
import { processOf } from "../../base/process/process-table.ts";
import { Git } from "../git.ts";
import { formatIndex, GITLINK, type IndexEntry, parseIndex } from "../index-entries.ts";
import {
  checkedOutElsewhere,
  fileIn,
  ID,
  MOST_INDEX,
  readRefs,
  textIn,
  ZERO,
} from "./git-files.ts";
import { type LogLine, parseLog } from "./read-inside.ts";
import { baseIndex } from "./shadow-folder.ts";

/** A ref before and after a command. An id of zeros means that the ref does not exist. */
export interface RefChange {
  readonly name: string;
  readonly old: string;
  readonly new: string;
}

/** The changes to make in a repository after a command. Each step is idempotent. */
export interface TakeOverPlan {
  readonly top: string;
  readonly gitDir: string;
  readonly commonDir: string;
  readonly refs: readonly RefChange[];
  /** Symbolic refs. */
  readonly symbolic: readonly (readonly [string, string])[];
  /** The contents of HEAD. */
  readonly head?: { readonly old: string; readonly new: string };
  /** New lines of HEAD's reflog. */
  readonly log: readonly LogLine[];
  readonly stash: { readonly dropped: readonly string[]; readonly added: readonly LogLine[] };
  /** Contents as bytes, one character each; null where there is no file. */
  readonly files: Readonly<Record<string, { old: string | null; new: string | null }>>;
  /** Values of keys; null for a section that is removed. */
  readonly settings: readonly (readonly [string, string | null])[];
  /** Operations, such as a merge, that the person began and the command finished. */
  readonly finished: readonly string[];
  readonly hasIndex: boolean;
  /** Refs below this one keep the new objects reachable until the plan is carried out. */
  readonly incoming: string;
  /** No ref is moved: the commits are only stored. */
  readonly isKeptOnly: boolean;
}

/** The folder of a plan, beside the shadow that it is about. */
export const PLAN = "plan";
const ATTEMPTS = 5;
/** Milliseconds to wait for another git that has the index locked. */
const LOCKED = 10_000;

/** Carries out a plan, or its remaining steps. Returns what was not changed, in words. */
export async function applyPlan(work: string): Promise<string[]> {
  const folder = join(work, PLAN);
  const plan = JSON.parse(textIn(folder, "plan.json") ?? "") as TakeOverPlan;
  const { gitDir, commonDir } = plan;
  const git = new Git(plan.top);
  const notes: string[] = [];
  await removeLock(gitDir);
  await using lock = plan.hasIndex && !plan.isKeptOnly ? await takeLock(gitDir) : undefined;
  const refused = await moveRefs(git, plan, notes);
  if (!plan.isKeptOnly && (await moveHead(git, plan, refused, notes))) {
    for (const [name, file] of Object.entries(plan.files)) {
      const now = fileIn(gitDir, name)?.toString("latin1") ?? null;
      if (now === file.old) putFile(gitDir, name, file.new);
    }
    for (const name of plan.finished) rmSync(join(gitDir, name), { recursive: true, force: true });
    for (const names of plan.symbolic) await git.run(["symbolic-ref", ...names], { mode: "files" });
    for (const [key, value] of plan.settings) {
      const change = value === null ? ["--remove-section", key] : [key, value];
      // A section may be gone already.
      await git.run(["config", "--local", ...change], { mode: "write", accepts: [0, 128] });
    }
    if (lock !== undefined) {
      const index = (at: string, name: string) => parseIndex(fileIn(at, name, MOST_INDEX));
      const [current, base] = [index(gitDir, "index"), parseIndex(baseIndex({ work }))];
      const merged = mergeIndex(current, base, index(folder, "index"));
      for (const [path, why] of merged.refused) notes.push(`'${path}' is not staged: ${why}`);
      if (merged.isChanged) lock.replace(formatIndex(merged.entries.values()));
    }
  }
  await changeStash(git, commonDir, plan.stash);
  await dropIncoming(plan.top, commonDir, plan.incoming);
  rmSync(folder, { recursive: true, force: true });
  return notes;
}

interface IndexLock extends AsyncDisposable {
  replace(index: Buffer): void;
}

const MARK = "index.trunkline-";

/** Takes the lock of the index, as git does. */
async function takeLock(gitDir: string): Promise<IndexLock> {
  const lock = join(gitDir, "index.lock");
  const file = join(gitDir, `${MARK}${ownerName()}`);
  writeFileSync(file, "");
  const giveUp = performance.now() + LOCKED;
  for (;;) {
    try {
      // Only one process can create the link, and the file that it links to names the owner of the lock.
      linkSync(file, lock);
      break;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "EEXIST" && performance.now() < giveUp) {
        await delay(20);
        continue;
      }
      rmSync(file, { force: true });
      const next = "If no git is running, delete that file";
      const says = `Cannot lock the index: '${lock}' is there. ${next}`;
      throw new TrunklineError("conflict", says, { cause: error });
    }
  }
  return {
    replace: (index) => {
      writeFileSync(file, index, { flush: true });
      renameSync(lock, join(gitDir, "index"));
    },
    [Symbol.asyncDispose]: async () => {
      if (isSameFile(file, lock)) rmSync(lock);
      rmSync(file, { force: true });
    },
  };
}

/** Removes the lock of a killed Trunkline process. */
async function removeLock(gitDir: string): Promise<void> {
  for (const name of readdirSync(gitDir).filter((each) => each.startsWith(MARK))) {
    if (!isOwnerGone(name.slice(MARK.length))) continue;
    const [file, lock] = [join(gitDir, name), join(gitDir, "index.lock")];
    if (isSameFile(file, lock)) rmSync(lock);
    rmSync(file, { force: true });
  }
}

function isSameFile(one: string, other: string): boolean {
  const [a, b] = [one, other].map((path) => lstatSync(path, { throwIfNoEntry: false }));
  return a !== undefined && a.ino === b?.ino && a.dev === b.dev;
}

/** A name for this process that stays unique after its pid is reused. */
export function ownerName(): string {
  return `${process.pid}-${processOf(process.pid)?.start}-${crypto.randomUUID()}`;
}

/** Whether the process that `ownerName` gave this name has ended. */
export function isOwnerGone(name: string): boolean {
  const [pid, start] = name.split("-");
  return processOf(Number(pid))?.start !== start;
}

/** Moves refs that nobody else has moved. Commits for the others are kept under refs of ours. */
async function moveRefs(git: Git, plan: TakeOverPlan, notes: string[]): Promise<Set<string>> {
  const { gitDir, commonDir, refs, log, isKeptOnly } = plan;
  const elsewhere = checkedOutElsewhere(gitDir, commonDir);
  for (let attempt = 1; ; attempt++) {
    const current = readRefs(commonDir);
    const refused = new Set<string>();
    const [words, lines]: [string[], string[]] = [[], []];
    for (const { name, old, new: id } of refs) {
      const now = current.ids.get(name) ?? ZERO;
      if (now === id) continue;
      const why = isKeptOnly
        ? "is not moved"
        : elsewhere.has(name)
          ? "is checked out in another work tree, and is not moved"
          : now !== old || current.symbolic.has(name)
            ? "was moved by somebody else meanwhile, and stays there"
            : undefined;
      if (why === undefined) {
        lines.push(id === ZERO ? `delete ${name}\0${old}\0` : `update ${name}\0${id}\0${old}\0`);
        continue;
      }
      refused.add(name);
      const kept = `refs/trunkline/kept/${name.slice("refs/".length)}/${id.slice(0, 12)}`;
      const where = id === ZERO ? "" : `: what the command made of it is kept as ${kept}`;
      words.push(`'${name}' ${why}${where}`);
      if (id !== ZERO && !current.ids.has(kept)) lines.push(`create ${kept}\0${id}\0`);
    }
    try {
      if (lines.length > 0) {
        if (attempt === 1 && !isKeptOnly) extendLog(plan);
        const args = ["update-ref", "-m", messageOf(log), "--stdin", "-z"];
        await git.run(args, { mode: "files", input: Buffer.from(lines.join("")) });
      }
      notes.push(...words);
      return refused;
    } catch (error) {
      if (attempt === ATTEMPTS) throw error;
    }
  }
}

/** Removes the refs that kept new objects. */
export async function dropIncoming(
  top: string,
  commonDir: string,
  incoming: string,
): Promise<void> {
  const lines = [...readRefs(commonDir).ids.keys()].flatMap((name) =>
    name.startsWith(`${incoming}/`) ? [`delete ${name}\0\0`] : [],
  );
  if (lines.length === 0) return;
  const input = Buffer.from(lines.join(""));
  await new Git(top).run(["update-ref", "--stdin", "-z"], { mode: "files", input });
}

function messageOf(log: readonly LogLine[]): string {
  return log.at(-1)?.message || "trunkline: a command";
}

/** Adds all steps but the last to HEAD's reflog, so that commits that were undone can be found. */
function extendLog({ gitDir, log }: TakeOverPlan): void {
  const known = fileIn(gitDir, "logs/HEAD", MOST_INDEX)?.toString("utf8");
  if (known === undefined) return;
  const lines = log
    .slice(0, -1)
    .map(({ old, id, who, message }) => `${old} ${id} ${who}\t${message}\n`);
  const added = lines.filter((line) => !known.includes(line)).join("");
  if (added !== "") appendFileSync(join(gitDir, "logs/HEAD"), added);
}

/** Returns whether HEAD is where the command left it. */
async function moveHead(
  git: Git,
  { gitDir, head, log }: TakeOverPlan,
  refused: ReadonlySet<string>,
  notes: string[],
): Promise<boolean> {
  const now = textIn(gitDir, "HEAD")?.trim() ?? "";
  const branchOf = (text: string): string => text.replace(/^ref: /, "");
  if (refused.has(branchOf(head?.new ?? now))) return false;
  if (head === undefined || now === head.new) return true;
  if (now !== head.old) {
    notes.push("HEAD was moved by somebody else meanwhile, and stays there");
    return false;
  }
  const message = ["-m", messageOf(log)];
  const args = ID.test(head.new)
    ? ["update-ref", "--no-deref", ...message, "HEAD", head.new]
    : ["symbolic-ref", ...message, "HEAD", branchOf(head.new)];
  await git.run(args, { mode: "files" });
  return true;
}

function putFile(gitDir: string, name: string, content: string | null): void {
  const path = join(gitDir, name);
  if (content === null) {
    rmSync(path, { force: true });
    return;
  }
  writeFileSync(`${path}.trunkline`, Buffer.from(content, "latin1"));
  renameSync(`${path}.trunkline`, path);
}

async function changeStash(
  git: Git,
  commonDir: string,
  { dropped, added }: TakeOverPlan["stash"],
): Promise<void> {
  const list = (): LogLine[] => parseLog(textIn(commonDir, "logs/refs/stash") ?? "").toReversed();
  for (const id of dropped) {
    const at = list().findIndex((line) => line.id === id);
    if (at < 0) continue;
    const name = `refs/stash@{${at}}`;
    await git.run(["reflog", "delete", "--updateref", "--rewrite", name], { mode: "files" });
    if (list().length === 0) await git.run(["update-ref", "-d", "refs/stash"], { mode: "files" });
  }
  for (const { id, message } of added) {
    if (list().some((line) => line.id === id)) continue;
    const args = ["update-ref", "--create-reflog", "-m", message, "refs/stash", id];
    await git.run(args, { mode: "files" });
  }
}

type Entries = ReadonlyMap<string, IndexEntry>;

interface MergedIndex {
  readonly entries: Map<string, IndexEntry>;
  /** Whether it differs from the current one. */
  readonly isChanged: boolean;
  /** Paths that were not changed, each with the reason. */
  readonly refused: ReadonlyMap<string, string>;
}

const STAGES = [0, 1, 2, 3];
const NO_STAT = Buffer.alloc(40);
const LINK = 0o120_000;

/** The entries of an index that differ from those before. */
export function changedPaths(base: Entries, after: Entries): string[] {
  const isSame = (key: string): boolean => identityOf(base.get(key)) === identityOf(after.get(key));
  const keys = [...after.keys(), ...base.keys()].filter((key) => !isSame(key));
  return [...new Set(keys.map((key) => key.slice(0, -2)))];
}

/**
 * Merges the changes of a command's index into the current one, which a person may have changed
 * meanwhile. File times of a command are not trusted: git has to read the changed files again.
 */
function mergeIndex(current: Entries, base: Entries, after: Entries): MergedIndex {
  const entries = new Map(current);
  const refused = new Map<string, string>();
  const isSparse = base.values().some(({ isSkipped }) => isSkipped);
  let isMerged = false;
  for (const path of changedPaths(base, after)) {
    const wanted = groupOf(after, path);
    if (sameGroup(groupOf(current, path), wanted)) continue;
    const why = problemOf(path, wanted, groupOf(base, path), groupOf(current, path));
    if (why !== undefined) {
      refused.set(Buffer.from(path, "latin1").toString("utf8"), why);
      continue;
    }
    isMerged = true;
    for (const stage of STAGES) entries.delete(`${path}\0${stage}`);
    for (const entry of wanted) {
      const isSkipped = isSparse && entry.isSkipped;
      const plain = { ...entry, stat: NO_STAT, isAssumedValid: false, isSkipped };
      entries.set(`${path}\0${entry.stage}`, plain);
    }
  }
  return { entries, isChanged: isMerged, refused };
}

function problemOf(
  path: string,
  wanted: readonly IndexEntry[],
  before: readonly IndexEntry[],
  current: readonly IndexEntry[],
): string | undefined {
  const text = Buffer.from(path, "latin1").toString("utf8");
  if (!isRepositoryPath(text)) return "git could take it for its own folder, or it leads out";
  const isGits = /^\.git(?:modules|attributes|ignore)$/i.test(text);
  if (isGits && has(wanted, LINK)) return "it is a link";
  if (has(wanted, GITLINK) && !has(before, GITLINK)) return NEW_GITLINK;
  return sameGroup(current, before) ? undefined : "somebody else has staged it meanwhile";
}

export const NEW_GITLINK = "it would be a new submodule, into which your own git would go";

function has(entries: readonly IndexEntry[], mode: number): boolean {
  return entries.some((entry) => entry.mode === mode);
}

function groupOf(entries: Entries, path: string): IndexEntry[] {
  return STAGES.flatMap((stage) => entries.get(`${path}\0${stage}`) ?? []);
}

function sameGroup(one: readonly IndexEntry[], other: readonly IndexEntry[]): boolean {
  return (
    one.length === other.length &&
    one.every((each, at) => identityOf(each) === identityOf(other[at]))
  );
}

function identityOf(entry: IndexEntry | undefined): string {
  if (entry === undefined) return "";
  return `${entry.stage} ${entry.mode} ${entry.id} ${entry.isIntended} ${entry.isSkipped}`;
}
