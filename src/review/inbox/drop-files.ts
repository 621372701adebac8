import { existsSync, readdirSync, renameSync, rmSync, statSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";

import { TrunklineError } from "../../base/errors.ts";
import { readRegularFile, UnfitFileError } from "../../base/file/read-regular-file.ts";
import { Holder } from "../../store/holder.ts";
import type { NewThread } from "../../store/review/reviews-threads.ts";
import type { Reviews } from "../../store/review/reviews.ts";
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
/** Beside the files, while some are moved aside: who has moved them, and whether it still lives. */
const HOLDERS = ".trunkline";
/** No comments are this long; a file that is was not meant as one. */
const LARGEST = 8 * 1024 * 1024;
/** Milliseconds until a store that failed is tried again. */
const RETRY = 1_000;

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
 *
 * The name that it has aside says which process moved it there, and no two are ever the same. What
 * belongs to a process that is gone is taken over by the next to look.
 */
export class DropFiles implements AsyncDisposable {
  readonly #options: DropFilesOptions;
  readonly #stops: (() => void)[] = [];
  readonly #taking = new Set<Promise<void>>();
  readonly #over = new AbortController();
  #queue: Promise<unknown> = Promise.resolve();
  #count = 0;
  #again: NodeJS.Timeout | undefined;

  constructor(options: DropFilesOptions) {
    this.#options = options;
  }

  begin(): void {
    const { files, inbox } = this.#options;
    for (const [folder, paths] of Map.groupBy(files, (file) => dirname(file))) {
      this.#stops.push(watchFolder(folder, () => paths.forEach((path) => this.#look(path))));
    }
    this.#stops.push(watchFolder(inbox, () => this.#lookInto(inbox)));
    for (const folder of new Set([...files.map((file) => dirname(file)), inbox])) clean(folder);
    this.#lookAll();
  }

  /** Ends watching. What was moved aside and is not safe yet is taken in by the next to look. */
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
    const at = path.lastIndexOf(TAKEN);
    const owner = ownerOf(path, path.slice(at + TAKEN.length).replace(/-\d+$/, ""));
    if (owner === "nobody") this.#take(path, path.slice(0, at));
    else if (owner === "another" && !this.#isOver) this.#lookAgain();
  }

  /** Whoever has a file now may be killed, of which nobody tells. */
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
      // Somebody else was first.
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return;
      report("review.drop-file", { file: path, error });
      return;
    }
    const held = stack.move();
    // One after the other, so that they stay in order.
    const first = this.#queue.then(() => this.#takeIn({ aside, name, kept: "", isGood: true }));
    this.#queue = first.catch(() => undefined);
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
    const { patience = PATIENCE } = this.#options;
    const age = Date.now() - statSync(before.aside).mtimeMs;
    if (before.kept !== "" && age < patience) await this.#pause(patience - age);
    const { aside, name, kept, isGood } = await this.#read(before);
    if (kept !== "" && isGood) {
      rmSync(aside, { force: true });
      return;
    }
    // When the house closes there is no time to wait: the next to look goes on with it.
    if (kept === "" && this.#isOver) return;
    const why = kept === "" ? "it is not JSON" : "some comments have no `file` or no `comment`";
    this.#setAside(aside, name, new UnfitFileError(why));
  }

  #setAside(aside: string, name: string, error: unknown): void {
    // Somebody has removed it, or the house closes and the store does not take it.
    if ((error as NodeJS.ErrnoException).code === "ENOENT" || isStores(error)) return;
    const unread = `${name}.unreadable-${Date.now()}-${this.#count}`;
    renameSync(aside, unread);
    const why = `${(error as Error).message}; the file was renamed`;
    this.#options.report("review.drop-file", { file: unread, why });
  }

  /** Keeps what a file says that it did not say before. */
  async #read(taken: Taken): Promise<Taken> {
    const bytes = readRegularFile(taken.aside, { most: LARGEST, followsLinks: false });
    if (bytes === undefined) throw missing(taken.aside);
    const text = bytes.toString("utf8");
    const values = text === taken.kept ? undefined : readDropped(text);
    if (values === undefined) return taken;
    const { folder } = this.#options;
    const dropped = values.filter(isDropped);
    const threads = await Promise.all(dropped.map((each) => threadOfDropped(each, folder)));
    if (threads.length > 0) await this.#keep(threads, taken.aside);
    return { ...taken, kept: text, isGood: threads.length === values.length };
  }

  /** A store that fails is tried until it is well again. The file is safe meanwhile. */
  async #keep(threads: readonly NewThread[], file: string): Promise<void> {
    for (let isTold = false; ; isTold = true) {
      try {
        await (await this.#options.open()).addAll(threads);
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

/** Of files that were moved aside, 10 comes after 9. */
const inOrder = new Intl.Collator("en", { numeric: true }).compare;

function list(folder: string): string[] {
  try {
    return readdirSync(folder).toSorted(inOrder);
  } catch {
    return [];
  }
}

/** Whose a file is that was moved aside by the holder of an id. */
function ownerOf(path: string, id: string): "us" | "another" | "nobody" {
  try {
    using holder = Holder.at(join(dirname(path), HOLDERS));
    if (id === holder.known) return "us";
    return holder.isAlive(id) ? "another" : "nobody";
  } catch {
    // Its folder was taken away in this moment.
    return "another";
  }
}

/** A process that was killed may have left its lock here, and nothing that it had moved aside. */
function clean(folder: string): void {
  try {
    using holder = Holder.at(join(folder, HOLDERS));
    holder.clean();
  } catch {
    // What is in nobody's way can stay.
  }
}

function isStores(error: unknown): boolean {
  return error instanceof TrunklineError && error.code === "unavailable";
}

function missing(path: string): NodeJS.ErrnoException {
  return Object.assign(new Error(`'${path}' is gone`), { code: "ENOENT" });
}
