import { statSync } from "node:fs";
import { mkdir, readFile } from "node:fs/promises";
import { dirname } from "node:path";

import { TrunklineError } from "../base/errors.ts";
import { replaceFile, withLock } from "./replace-file.ts";
import { objectIn } from "../base/check.ts";

/**
 * Records by key in a JSON file that several processes read and change. They can be recreated, so a damaged
 * file counts as empty.
 */
export class RecordFile<T extends object> {
  readonly #path: string;

  constructor(path: string) {
    this.#path = path;
  }

  async get(key: string): Promise<T | undefined> {
    const all = await this.all();
    return Object.hasOwn(all, key) ? all[key] : undefined;
  }

  /** Replaces the record of a key, under the file's lock; undefined removes it. */
  async change(key: string, change: (known: T | undefined) => T | undefined): Promise<void> {
    await mkdir(dirname(this.#path), { recursive: true, mode: 0o700 });
    await withLock(`${this.#path}.lock`, async () => {
      const all = new Map(Object.entries(await this.all()));
      const state = change(all.get(key));
      if (state === undefined) all.delete(key);
      else all.set(key, state);
      await replaceFile(this.#path, `${JSON.stringify(Object.fromEntries(all), null, 1)}\n`);
    });
  }

  /** Differs after every change. */
  stamp(): string {
    const file = statSync(this.#path, { throwIfNoEntry: false });
    return file === undefined ? "none" : `${file.ino} ${file.mtimeMs} ${file.size}`;
  }

  /** Throws if the file cannot be read now: it must not be replaced by an empty one. */
  async all(): Promise<Readonly<Record<string, T>>> {
    const text = await readFile(this.#path, "utf8").catch((error: NodeJS.ErrnoException) => {
      if (error.code === "ENOENT") return "";
      const why = `Cannot read '${this.#path}': ${error.message}`;
      throw new TrunklineError("unavailable", why, { cause: error });
    });
    return (objectIn(text) as Record<string, T> | undefined) ?? {};
  }
}
