import { attempt } from "../../base/attempt.ts";
import { TaskQueue } from "../../base/limit/task-queue.ts";
import {
  existsSync,
  lstatSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  realpathSync,
} from "node:fs";
import { basename, dirname, join, isAbsolute, relative, resolve, sep } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { TrunklineError } from "../../base/errors.ts";
import { readRegularFile, UnfitFileError } from "../../base/file/read-regular-file.ts";
import { Holder } from "../../store/holder.ts";
import type { Reviews } from "../../store/review/reviews.ts";
import { watchFolder } from "../../base/file/watch-folder.ts";
import { createHash } from "node:crypto";
import { type Repository, SEVERITIES, type Severity } from "../../store/review/review-thread.ts";
import { hasDotGit } from "../../base/file/repository-path.ts";
import type { NewThread } from "../../store/review/reviews-rows.ts";
import { AnchorMaker, type MadeAnchor } from "../anchor/anchor.ts";
import { recogniseRepository } from "../moved.ts";
import { findRepository, type FoundRepository, placeOf } from "../repository.ts";
import { parsedJson } from "../../base/check.ts";
import { homeOf } from "../../base/process/environment.ts";

export interface DropFilesOptions {
  /** Files into which other programs write comments. */
  readonly files: readonly string[];
  /** A folder in which every file is a drop file. */
  readonly inbox: string;
  /** The project of comments that name none. */
  readonly folder: string;
  /** Opens the store when the first comment arrives. */
  readonly open: () => Promise<Reviews>;
  readonly report: (event: string, fields: Record<string, unknown>) => void;
  /** Milliseconds to wait for a program that is still writing. */
  readonly patience?: number;
}

/** Between the name of a drop file and the id of the process that has renamed it. */
const TAKEN = ".taken-";
/** The folder with the locks of processes that have renamed files. */
const HOLDERS = ".trunkline";
const PATIENCE = 2_000;
/** Bytes. A larger file does not hold comments. */
const LARGEST = 8 * 1024 * 1024;
/** Milliseconds before the store is tried again. */
const RETRY = 1_000;

/** A drop file that we have renamed. */
interface TakenDropFile {
  readonly aside: string;
  readonly name: string;
  /** The part of its text that is in the store. */
  readonly kept: string;
  /** Whether it contains nothing but valid comments. */
  readonly isGood: boolean;
}

/**
 * Imports comments that other programs write to drop files. A file is first renamed, so that the
 * next writer creates a new one. It is removed when its comments are in the store. A program that
 * had the file open may still write to it, so it is read once more before that. The new name
 * contains the id of the process that renamed it, and is unique. Files of a process that has died
 * are taken over by the next one that looks.
 */
export class DropFiles implements AsyncDisposable {
  readonly #options: DropFilesOptions;
  readonly #stops: (() => void)[] = [];
  readonly #taking = new Set<Promise<void>>();
  readonly #over = new AbortController();
  readonly #queue = new TaskQueue();
  #count = 0;
  #again: NodeJS.Timeout | undefined;

  constructor(options: DropFilesOptions) {
    this.#options = options;
  }

  begin(): void {
    const { files, inbox } = this.#options;
    for (const [folder, paths] of Map.groupBy(files, (file) => dirname(file))) {
      const changed = (name: string | undefined): void => {
        for (const path of paths) if (name === undefined || isOf(path, name)) this.#look(path);
      };
      this.#stops.push(watchFolder(folder, changed));
    }
    this.#stops.push(watchFolder(inbox, () => this.#lookInto(inbox)));
    for (const folder of new Set([...files.map((file) => dirname(file)), inbox])) clean(folder);
    this.#lookAll();
  }

  /**
   * Stops watching. Renamed files that are not in the store yet are imported by the next process.
   */
  async [Symbol.asyncDispose](): Promise<void> {
    for (const stop of this.#stops) stop();
    this.#over.abort();
    clearTimeout(this.#again);
    await Promise.all(this.#taking);
  }

  #lookAll(): void {
    const { files, inbox } = this.#options;
    for (const path of files) this.#look(path);
    this.#lookInto(inbox);
  }

  #look(path: string): void {
    // Renamed files are older than the present one.
    const taken = list(dirname(path), `${basename(path)}${TAKEN}`);
    for (const file of oldestFirst(taken.map((name) => join(dirname(path), name))))
      this.#adopt(file);
    if (existsSync(path)) this.#take(path);
  }

  #lookInto(inbox: string): void {
    for (const path of oldestFirst(list(inbox).map((name) => join(inbox, name)))) {
      const name = basename(path);
      if (/\.json\.taken-/.test(name)) this.#adopt(path);
      // Files with other names are still being written.
      else if (name.endsWith(".json")) this.#take(path);
    }
  }

  /** Takes over the renamed file of a process that has died. */
  #adopt(path: string): void {
    const at = path.lastIndexOf(TAKEN);
    const owner = ownerOf(path, path.slice(at + TAKEN.length).replace(/-\d+$/, ""));
    if (owner === "nobody") this.#take(path, path.slice(0, at));
    else if (owner === "another" && !this.#isOver) this.#lookAgain();
  }

  /** The process that holds a file may be killed without notice, so look again. */
  #lookAgain(): void {
    const { patience = PATIENCE } = this.#options;
    this.#again ??= setTimeout(() => {
      this.#again = undefined;
      this.#lookAll();
    }, 2 * patience).unref();
  }

  #take(path: string, name = path): void {
    const { report } = this.#options;
    using stack = new DisposableStack();
    let aside: string;
    try {
      const holder = stack.use(Holder.at(join(dirname(name), HOLDERS)));
      aside = `${name}${TAKEN}${holder.id}-${++this.#count}`;
      renameSync(path, aside);
    } catch (error) {
      // Another process was faster.
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return;
      report("review.drop-file", { file: path, error });
      return;
    }
    const held = stack.move();
    // One at a time, to keep their order.
    const first = this.#queue.run(() => this.#takeIn({ aside, name, kept: "", isGood: true }));
    const taking = first
      .then((taken) => this.#finish(taken))
      .catch((error: unknown) => this.#setAside(aside, name, error))
      .catch((error: unknown) => report("review.drop-file", { file: aside, error }))
      .finally(() => {
        this.#taking.delete(taking);
        held.dispose();
      });
    this.#taking.add(taking);
  }

  /** Reads a file until it is complete, and stores its comments. */
  async #takeIn(taken: TakenDropFile): Promise<TakenDropFile> {
    const { patience = PATIENCE } = this.#options;
    const giveUpAt = Date.now() + patience;
    for (;;) {
      const now = await this.#read(taken);
      if (now.kept !== "" || Date.now() > giveUpAt || this.#isOver) return now;
      await this.#pause(20);
    }
  }

  /** Removes the file when no program can still be writing to it. */
  async #finish(before: TakenDropFile): Promise<void> {
    const { patience = PATIENCE } = this.#options;
    const age = Date.now() - statSync(before.aside).mtimeMs;
    // A time in the future says nothing about how long somebody may still write.
    if (before.kept !== "" && age < patience) await this.#pause(patience - Math.max(0, age));
    const { aside, name, kept, isGood } = await this.#read(before);
    if (kept !== "" && isGood) {
      rmSync(aside, { force: true });
      return;
    }
    // When we are closing there is no time to wait: the next process continues.
    if (kept === "" && this.#isOver) return;
    const why =
      kept === ""
        ? "it is not JSON"
        : "some comments have no `file` or no `comment`, or are on git's own files";
    this.#setAside(aside, name, new UnfitFileError(why));
  }

  #setAside(aside: string, name: string, error: unknown): void {
    // The file was removed, or we are closing while the store is unavailable.
    if ((error as NodeJS.ErrnoException).code === "ENOENT" || isStores(error)) return;
    // Two may be renamed in the same millisecond. The name that each had is unique.
    const unread = `${name}.unreadable-${aside.slice(name.length + TAKEN.length)}`;
    renameSync(aside, unread);
    const why = `${(error as Error).message}; the file was renamed`;
    this.#options.report("review.drop-file", { file: unread, why });
  }

  /** Stores the comments of a file that are new since the last read. */
  async #read(taken: TakenDropFile): Promise<TakenDropFile> {
    const bytes = readRegularFile(taken.aside, { most: LARGEST, followsLinks: false });
    if (bytes === undefined) throw missing(taken.aside);
    const text = bytes.toString("utf8");
    const values = text === taken.kept ? undefined : readDropped(text);
    if (values === undefined) return taken;
    const { folder } = this.#options;
    const dropped = values.filter(isDropped).filter((each) => !isOnGitFile(each, folder));
    if (dropped.length > 0) await this.#keep(dropped, taken.aside);
    return { ...taken, kept: text, isGood: dropped.length === values.length };
  }

  /** Retries until the store is available. The file stays meanwhile. */
  async #keep(dropped: readonly DroppedComment[], file: string): Promise<void> {
    const { folder } = this.#options;
    for (let isTold = false; ; isTold = true) {
      try {
        const reviews = await this.#options.open();
        const threads = dropped.map((each) => threadOfDropped(reviews, each, folder));
        await reviews.addAll(await Promise.all(threads));
        return;
      } catch (error) {
        if (!isStores(error) || this.#isOver) throw error;
        if (!isTold) this.#options.report("review.drop-file", { file, error });
      }
      await this.#pause(RETRY);
    }
  }

  get #isOver(): boolean {
    return this.#over.signal.aborted;
  }

  async #pause(milliseconds: number): Promise<void> {
    await delay(milliseconds, undefined, { signal: this.#over.signal, ref: false }).catch(() => {});
  }
}

/** Where other programs write comments: files, and a folder of them. */
export function dropPlaces(
  data: string,
  env: NodeJS.ProcessEnv,
): Pick<DropFilesOptions, "files" | "inbox"> {
  const config = env.XDG_CONFIG_HOME || join(homeOf(env), ".config");
  const bridge = join(config, "jesseduffield/lazygit/mcp-messages.json");
  return { files: [bridge, join(data, "mcp-messages.json")], inbox: join(data, "review-inbox") };
}

/** The comments on a repository that no server has imported yet, the oldest first. */
export function waitingDrops(
  { files, inbox }: Pick<DropFilesOptions, "files" | "inbox">,
  { gitDir, root }: Repository,
): DroppedComment[] {
  const isDrop = (name: string): boolean => /\.json(?:\.taken-[^.]*)?$/.test(name);
  const paths = [
    ...files.flatMap((file) =>
      list(dirname(file), basename(file)).map((name) => join(dirname(file), name)),
    ),
    ...list(inbox).map((name) => join(inbox, name)),
  ].filter((path) => isDrop(path));
  return oldestFirst(paths).flatMap((path) => {
    // A server may just have taken it, or it is no file: whoever imports it reports that.
    const bytes = attempt(() => readRegularFile(path, { most: LARGEST, followsLinks: false }));
    return (readDropped(bytes?.toString("utf8") ?? "") ?? [])
      .filter(isDropped)
      .filter((dropped) => findRepository(projectOf(dropped, root))?.gitDir === gitDir);
  });
}

/** Whether a name is that of a drop file, or the one that it got when it was taken. */
function isOf(file: string, name: string): boolean {
  return name === basename(file) || name.startsWith(`${basename(file)}${TAKEN}`);
}

/** The names in a folder that begin so, in numeric order: 10 comes after 9. */
function list(folder: string, beginning = ""): string[] {
  const names = attempt(() => readdirSync(folder), []);
  const found = names.filter((name) => name.startsWith(beginning));
  // The first collator of a process takes 14 ms to make.
  if (found.length < 2) return found;
  return found.toSorted(new Intl.Collator("en", { numeric: true }).compare);
}

/** Sorts by the time of writing, since several processes may have renamed them, and died. */
function oldestFirst(files: readonly string[]): string[] {
  return (
    files
      // The time of a link itself: its target may be unreachable. If the file was just removed, or its
      // folder is not accessible, the attempt to take it reports that.
      .map((file) => ({ file, at: attempt(() => lstatSync(file).mtimeMs, 0) }))
      .toSorted((one, other) => one.at - other.at)
      .map(({ file }) => file)
  );
}

/** Which process holds a renamed file, by the id in its name. */
function ownerOf(path: string, id: string): "us" | "another" | "nobody" {
  // It fails if the folder was removed at this moment.
  return attempt(() => {
    using holder = Holder.at(join(dirname(path), HOLDERS));
    if (id === holder.known) return "us";
    return holder.isAlive(id) ? "another" : "nobody";
  }, "another");
}

/** Removes locks of killed processes that hold no file. */
function clean(folder: string): void {
  // Left-over locks do no harm.
  attempt(() => {
    using holder = Holder.at(join(folder, HOLDERS));
    holder.clean();
  });
}

function isStores(error: unknown): boolean {
  return error instanceof TrunklineError && error.code === "unavailable";
}

function missing(path: string): NodeJS.ErrnoException {
  return Object.assign(new Error(`'${path}' is gone`), { code: "ENOENT" });
}

/** A comment as lazygit-mcp-bridge drops it. */
export interface DroppedComment {
  readonly file: string;
  readonly comment: string;
  readonly project_root?: string;
  readonly time?: string | number;
  /** Missing in the program's files, but shown in its document. */
  readonly line?: number;
  readonly severity?: Severity;
}

/**
 * Parses a drop file: one object, a list of objects, or one object per line. Undefined while it is
 * incomplete.
 */
export function readDropped(text: string): unknown[] | undefined {
  if (text.trim() === "") return undefined;
  const value = parsedJson(text);
  if (value !== undefined) return Array.isArray(value) ? (value as unknown[]) : [value];
  // Perhaps one object per line.
  const lines = text.split("\n").filter((line) => line.trim() !== "");
  const values = lines.map(parsedJson);
  return lines.length < 2 || values.includes(undefined) ? undefined : values;
}

export function isDropped(value: unknown): value is DroppedComment {
  const { file, comment } = (value ?? {}) as Partial<Record<keyof DroppedComment, unknown>>;
  return typeof file === "string" && file !== "" && typeof comment === "string" && comment !== "";
}

/** Whether a dropped comment is on one of git's own files, which nobody comments on. */
export function isOnGitFile(dropped: DroppedComment, folder: string): boolean {
  const project = projectOf(dropped, folder);
  return hasDotGit(plainPath(findRepository(project)?.root ?? project, dropped.file));
}

export function severityOf({ severity }: DroppedComment): Severity {
  return SEVERITIES.find((each) => each === severity) ?? "should";
}

/**
 * Makes a thread of a dropped comment. If its lines do not exist, the comment is kept without them.
 */
export async function threadOfDropped(
  reviews: Reviews,
  dropped: DroppedComment,
  folder: string,
): Promise<NewThread> {
  const { file, comment, time, line } = dropped;
  const project = projectOf(dropped, folder);
  const found = findRepository(project);
  const { anchor, content, repository = found } = await anchorOf(found, project, file, line);
  return {
    repository:
      repository === undefined
        ? plainFolder(project)
        : await recogniseRepository(reviews, repository),
    anchor,
    ...(content === undefined ? {} : { content }),
    comment,
    severity: severityOf(dropped),
    by: "lazygit",
    source: "drop-file",
    at: timeOf(time),
    fingerprint: fingerprintOf(dropped),
  };
}

/**
 * Identifies a comment that is dropped twice (lazygit-mcp-bridge, "Multiple Message Support": file,
 * comment and time).
 */
export function fingerprintOf({ file, comment, time }: DroppedComment): string {
  return createHash("sha256")
    .update(`${file}|${comment}|${time ?? ""}`)
    .digest("hex");
}

function projectOf({ file, project_root }: DroppedComment, folder: string): string {
  if (typeof project_root === "string") return project_root;
  return isAbsolute(file) ? dirname(file) : folder;
}

async function anchorOf(
  here: FoundRepository | undefined,
  project: string,
  file: string,
  line: unknown,
): Promise<MadeAnchor & { readonly repository?: FoundRepository }> {
  const isLine = Number.isSafeInteger(line) && (line as number) >= 1;
  const at = isLine ? { line: line as number, end: line as number } : {};
  const plain = { path: plainPath(project, file), side: "new", ...at } as const;
  if (here === undefined) return { anchor: plain };
  try {
    const { repository, path } = placeOf(here, project, file);
    return { ...(await new AnchorMaker().make({ repository, path, ...at })), repository };
  } catch (error) {
    if (!(error instanceof TrunklineError)) throw error;
    return { anchor: plain };
  }
}

function plainPath(project: string, file: string): string {
  return (isAbsolute(file) ? relative(project, file) : file).split(sep).join("/");
}

/** A project without git is identified by its folder. */
function plainFolder(project: string): Repository {
  const root = attempt(() => realpathSync(project)) ?? resolve(project);
  return { gitDir: root, root };
}

function timeOf(time: unknown): number | undefined {
  const at = typeof time === "number" ? time * (time < 1e11 ? 1000 : 1) : Date.parse(String(time));
  const date = new Date(at).getTime();
  return Number.isNaN(date) ? undefined : date;
}
