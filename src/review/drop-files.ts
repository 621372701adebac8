import { existsSync, readdirSync, readFileSync, renameSync, rmSync, statSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";

import type { Reviews } from "../store/reviews.ts";
import { isDropped, readDropped, threadOfDropped } from "./dropped.ts";
import { watchFolder } from "./watch-folder.ts";

export interface DropFilesOptions {
  /** Files that comments are dropped in, by whatever program. */
  readonly files: readonly string[];
  /** Folder in which each file is one that was dropped. */
  readonly inbox: string;
  /** Where comments belong that do not say. */
  readonly folder: string;
  /** Opens the store, once there is something to take in. */
  readonly open: () => Promise<Reviews>;
  readonly report: (event: string, fields: Record<string, unknown>) => void;
  /** Milliseconds that whoever is still writing may take. */
  readonly patience?: number;
}

const PATIENCE = 2_000;
const TAKEN = ".taken-";

/** A file that was moved aside. */
interface Taken {
  readonly aside: string;
  readonly name: string;
  /** As much of it as is safe. */
  readonly kept: string;
  /** All that it says is a comment. */
  readonly isGood: boolean;
}

/**
 * Takes in comments that other programs drop in files. A file is first moved aside, so that whoever
 * writes the next makes another one; it is removed once what it says is safe in the store. Whoever
 * had it open may still write to it, so it is looked at once more before that.
 */
export class DropFiles implements AsyncDisposable {
  readonly #options: DropFilesOptions;
  readonly #stops: (() => void)[] = [];
  readonly #taking = new Set<Promise<void>>();
  readonly #over = new AbortController();
  #queue: Promise<unknown> = Promise.resolve();
  #count = 0;

  constructor(options: DropFilesOptions) {
    this.#options = options;
  }

  begin(): void {
    const { files, inbox } = this.#options;
    for (const [folder, paths] of Map.groupBy(files, (file) => dirname(file))) {
      const look = (): void => paths.forEach((path) => this.#look(path));
      this.#stops.push(watchFolder(folder, look));
      look();
    }
    this.#stops.push(watchFolder(inbox, () => this.#lookInto(inbox)));
    this.#lookInto(inbox);
  }

  /** Ends watching. What was moved aside and is not safe yet is taken in by the next to look. */
  async [Symbol.asyncDispose](): Promise<void> {
    for (const stop of this.#stops) stop();
    this.#over.abort();
    await Promise.all(this.#taking);
  }

  #look(path: string): void {
    // What was moved aside is older than what is there.
    for (const name of list(dirname(path))) {
      if (name.startsWith(`${basename(path)}${TAKEN}`)) this.#adopt(join(dirname(path), name));
    }
    if (existsSync(path)) this.#take(path);
  }

  #lookInto(inbox: string): void {
    for (const name of list(inbox)) {
      const path = join(inbox, name);
      if (/\.json\.taken-/.test(name)) this.#adopt(path);
      // Others are still being written.
      else if (name.endsWith(".json")) this.#take(path);
    }
  }

  /** Takes over what a process had moved aside that is no more. */
  #adopt(path: string): void {
    const pid = Number(/\.taken-(\d+)-\d+$/.exec(path)?.[1]);
    if (pid === process.pid || !Number.isSafeInteger(pid) || isRunning(pid)) return;
    this.#take(path, path.slice(0, path.lastIndexOf(TAKEN)));
  }

  #take(path: string, name = path): void {
    const aside = `${name}${TAKEN}${process.pid}-${++this.#count}`;
    try {
      renameSync(path, aside);
    } catch (error) {
      // Somebody else was first.
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return;
      this.#options.report("review.drop-file", { file: path, error });
      return;
    }
    // One after the other, so that they stay in order.
    const first = this.#queue.then(() => this.#takeIn({ aside, name, kept: "", isGood: true }));
    this.#queue = first.catch(() => undefined);
    const taking = first
      .then((taken) => this.#finish(taken))
      .catch((error: unknown) => this.#options.report("review.drop-file", { file: aside, error }))
      .finally(() => this.#taking.delete(taking));
    this.#taking.add(taking);
  }

  /** Reads a file until it is whole, and keeps what it says. */
  async #takeIn(taken: Taken): Promise<Taken> {
    const { patience = PATIENCE } = this.#options;
    const giveUpAt = Date.now() + patience;
    for (;;) {
      const now = await this.#read(taken);
      if (now.kept !== "" || Date.now() > giveUpAt || this.#isOver) return now;
      await this.#pause(20);
    }
  }

  /** Once nobody can be writing to it any more, the file has done its duty. */
  async #finish(before: Taken): Promise<void> {
    const { patience = PATIENCE, report } = this.#options;
    const age = Date.now() - statSync(before.aside).mtimeMs;
    if (before.kept !== "" && age < patience) await this.#pause(patience - age);
    const { aside, name, kept, isGood } = await this.#read(before);
    if (kept !== "" && isGood) {
      rmSync(aside, { force: true });
      return;
    }
    // When the house closes there is no time to wait: the next to look goes on with it.
    if (kept === "" && this.#isOver) return;
    const unread = `${name}.unreadable-${Date.now()}-${this.#count}`;
    renameSync(aside, unread);
    const why = kept === "" ? "it is not JSON" : "some of it has no `file` or no `comment`";
    report("review.drop-file", { file: unread, why: `${why}, so it was set aside` });
  }

  /** Keeps what a file says that it did not say before. */
  async #read(taken: Taken): Promise<Taken> {
    const text = readFileSync(taken.aside, "utf8");
    const values = text === taken.kept ? undefined : readDropped(text);
    if (values === undefined) return taken;
    const { open, folder } = this.#options;
    const dropped = values.filter(isDropped);
    const threads = await Promise.all(dropped.map((each) => threadOfDropped(each, folder)));
    if (threads.length > 0) await (await open()).addAll(threads);
    return { ...taken, kept: text, isGood: threads.length === values.length };
  }

  get #isOver(): boolean {
    return this.#over.signal.aborted;
  }

  async #pause(milliseconds: number): Promise<void> {
    await delay(milliseconds, undefined, { signal: this.#over.signal, ref: false }).catch(() => {});
  }
}

/** Of files that were moved aside, 10 comes after 9. */
const inOrder = new Intl.Collator("en", { numeric: true }).compare;

function list(folder: string): string[] {
  try {
    return readdirSync(folder).toSorted(inOrder);
  } catch {
    return [];
  }
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}
