import { readFileSync, statSync } from "node:fs";
import { basename, dirname } from "node:path";

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

/** A list that also has when its records were last used. It is written some time later, in one batch. */
export abstract class UsedList<T extends { readonly id: string }>
  extends SharedList<T>
  implements AsyncDisposable
{
  protected readonly now: () => number;
  readonly #options: LastUsesOptions;
  /** Times that are not written yet, by the id of the record. */
  readonly #uses = new Map<string, number>();
  #timer: NodeJS.Timeout | undefined;

  constructor(path: string, list: SharedListOptions<T>, options: LastUsesOptions) {
    super(path, list);
    this.#options = options;
    this.now = options.now ?? Date.now;
  }

  /** The record of something that was used then. */
  protected abstract used(record: T, at: number): T;

  /** The last use that is not written yet; 0 where there is none. */
  protected lastUse(id: string): number {
    return this.#uses.get(id) ?? 0;
  }

  /** Notes that a record was used. */
  note({ id }: Pick<T, "id">): void {
    this.#uses.set(id, this.now());
    this.#timer ??= setTimeout(
      () => background(this.#writeAll(), "Noting what was used"),
      this.#options.noteAfter ?? 60_000,
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
      await this.change((records) => {
        const list = records.map((each) => this.used(each, uses.get(each.id) ?? 0));
        return { list };
      });
      for (const [id, at] of uses) if (this.#uses.get(id) === at) this.#uses.delete(id);
    } catch (error) {
      const event = `${basename(this.path, ".json")}.not-noted`;
      this.#options.report?.(event, { file: this.path, error });
    }
  }
}
