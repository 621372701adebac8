import { readFileSync, statSync } from "node:fs";
import { dirname } from "node:path";

import { background } from "../base/background.ts";
import { fileWords, TrunklineError } from "../base/errors.ts";
import { makeFolder } from "../base/file/path.ts";
import { replaceFile, withLock } from "./replace-file.ts";

export interface SharedListOptions<T> {
  /** The member of the file's object that is the list. */
  readonly key: string;
  /** Reads a record; undefined for one that is not fully understood. */
  readonly parse: (value: unknown) => T | undefined;
  /** What a person can do about a file that cannot be read. */
  readonly advice: string;
}

/**
 * A list in a JSON file of the data folder that several processes read and write. Every read checks
 * whether the file has changed, so that a running server notices at once what another process changes.
 */
export class SharedList<T> {
  readonly path: string;
  readonly #options: SharedListOptions<T>;
  /** The list when the file had this stamp; undefined if it could not be read. */
  #known: { readonly stamp: string; readonly list: readonly T[] } | undefined;

  constructor(path: string, options: SharedListOptions<T>) {
    this.path = path;
    this.#options = options;
  }

  /** Throws "config" if the file cannot be read, or has something else. */
  read(): readonly T[] {
    let stamp: string;
    let text: string | undefined;
    try {
      const stat = statSync(this.path, { bigint: true, throwIfNoEntry: false });
      stamp = stat === undefined ? "" : `${stat.ino} ${stat.size} ${stat.mtimeNs} ${stat.ctimeNs}`;
      if (this.#known?.stamp === stamp) return this.#known.list;
      this.#known = undefined;
      text = stat === undefined ? undefined : readFileSync(this.path, "utf8");
    } catch (error) {
      this.#known = undefined;
      throw this.#broken((error as Error).message, error);
    }
    const list = text === undefined ? [] : this.#parse(text);
    this.#known = { stamp, list };
    return list;
  }

  /** Changes the file under its lock. `change` gets what is in it then. */
  async change<R = void>(
    change: (list: readonly T[]) => { readonly list: readonly T[]; readonly result?: R },
  ): Promise<R> {
    try {
      makeFolder(dirname(this.path), 0o700);
    } catch (error) {
      const says = `Cannot write '${this.path}': ${fileWords(error, this.path)}`;
      throw new TrunklineError("unavailable", says, { cause: error });
    }
    return withLock(`${this.path}.lock`, async () => {
      const { list, result } = change(this.read());
      await replaceFile(this.path, `${JSON.stringify({ [this.#options.key]: list }, null, 2)}\n`);
      return result as R;
    });
  }

  #parse(text: string): readonly T[] {
    const { key, parse } = this.#options;
    let value: Readonly<Record<string, unknown>> | null;
    try {
      value = JSON.parse(text) as typeof value;
    } catch (error) {
      throw this.#broken("it is not JSON", error);
    }
    const list = value?.[key];
    const records = Array.isArray(list) ? list.map(parse) : [undefined];
    if (records.every((record) => record !== undefined)) return records;
    throw this.#broken(`it has no list of ${key}`);
  }

  #broken(why: string, cause?: unknown): TrunklineError {
    const says = `Cannot read '${this.path}': ${why}. ${this.#options.advice}`;
    return new TrunklineError("config", says, { cause });
  }
}

export interface LastUsesOptions {
  /** Milliseconds after which uses are written. */
  readonly noteAfter?: number;
  readonly now?: () => number;
  /** Called when they could not be written. */
  readonly report?: (event: string, fields: Record<string, unknown>) => void;
}

/** When the records of a list were last used. It is written some time later, in one batch. */
export class LastUses implements AsyncDisposable {
  readonly #write: (uses: ReadonlyMap<string, number>) => Promise<void>;
  readonly #failed: (error: unknown) => void;
  readonly #options: LastUsesOptions;
  /** Times that are not written yet, by the id of the record. */
  readonly #uses = new Map<string, number>();
  #timer: NodeJS.Timeout | undefined;

  constructor(
    write: (uses: ReadonlyMap<string, number>) => Promise<void>,
    failed: (error: unknown) => void,
    options: LastUsesOptions,
  ) {
    this.#write = write;
    this.#failed = failed;
    this.#options = options;
  }

  /** The last use that is not written yet; 0 where there is none. */
  of(id: string): number {
    return this.#uses.get(id) ?? 0;
  }

  note(id: string): void {
    const { now = Date.now, noteAfter = 60_000 } = this.#options;
    this.#uses.set(id, now());
    this.#timer ??= setTimeout(
      () => background(this.#writeAll(), "Noting what was used"),
      noteAfter,
    ).unref();
  }

  /** Writes what is not written yet. */
  async [Symbol.asyncDispose](): Promise<void> {
    clearTimeout(this.#timer);
    await this.#writeAll();
  }

  async #writeAll(): Promise<void> {
    this.#timer = undefined;
    if (this.#uses.size === 0) return;
    const uses = new Map(this.#uses);
    try {
      await this.#write(uses);
      for (const [id, at] of uses) if (this.#uses.get(id) === at) this.#uses.delete(id);
    } catch (error) {
      this.#failed(error);
    }
  }
}
