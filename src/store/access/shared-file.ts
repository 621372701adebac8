import { readFileSync, statSync } from "node:fs";
import { dirname } from "node:path";

import { fileWords, TrunklineError } from "../../base/errors.ts";
import { makeFolder } from "../../base/file/path.ts";
import { replaceFile, withLock } from "../replace-file.ts";

export interface SharedFileOptions<T> {
  /** Reads the file's text; undefined where there is no file. Throws at what it does not understand. */
  readonly parse: (text: string | undefined) => T;
  /** The error for a file that cannot be read. */
  readonly broken: (why: string, cause: unknown) => TrunklineError;
}

/**
 * A JSON file of the data folder that several processes read and write. Every read checks whether the
 * file has changed, so that a running server notices at once what another process changes.
 */
export class SharedFile<T> {
  readonly path: string;
  readonly #options: SharedFileOptions<T>;
  /** What the file had when it had the stamp; undefined if it could not be read. */
  #known: { readonly stamp: string; readonly value: T } | undefined;

  constructor(path: string, options: SharedFileOptions<T>) {
    this.path = path;
    this.#options = options;
  }

  /** The same object until the file changes. Throws if it cannot be read. */
  read(): T {
    const { parse, broken } = this.#options;
    let stamp: string;
    let text: string | undefined;
    try {
      const stat = statSync(this.path, { bigint: true, throwIfNoEntry: false });
      stamp = stat === undefined ? "" : `${stat.ino} ${stat.size} ${stat.mtimeNs} ${stat.ctimeNs}`;
      if (this.#known?.stamp === stamp) return this.#known.value;
      this.#known = undefined;
      text = stat === undefined ? undefined : readFileSync(this.path, "utf8");
    } catch (error) {
      this.#known = undefined;
      throw broken((error as Error).message, error);
    }
    const value = parse(text);
    this.#known = { stamp, value };
    return value;
  }

  /** Changes the file under its lock. `change` gets what is in it then. */
  async change<R>(
    change: (value: T) => { readonly value: unknown; readonly result: R },
  ): Promise<R> {
    try {
      makeFolder(dirname(this.path), 0o700);
    } catch (error) {
      const says = `Cannot write '${this.path}': ${fileWords(error, this.path)}`;
      throw new TrunklineError("unavailable", says, { cause: error });
    }
    return withLock(`${this.path}.lock`, async () => {
      const { value, result } = change(this.read());
      await replaceFile(this.path, `${JSON.stringify(value, null, 2)}\n`);
      return result;
    });
  }
}
