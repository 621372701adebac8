import {
  closeSync,
  fsyncSync,
  mkdirSync,
  openSync,
  realpathSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";

import { fileWords, TrunklineError } from "../../base/errors.ts";
import { readRegularFile } from "../../base/file/read-regular-file.ts";

const MAX_SIZE = 16 * 1024 * 1024;

/**
 * The project files that the user has read and trusts, in `trust.json` of the data folder. What is
 * trusted is a text at a place: a file that changes must be trusted again.
 */
export class TrustStore {
  readonly path: string;

  constructor(data: string) {
    this.path = join(data, "trust.json");
  }

  /** Throws if the file cannot be used. */
  check(): void {
    this.#read();
  }

  isTrusted(file: string, text: string): boolean {
    return this.#read()[placeOf(file)] === digestOf(text);
  }

  trust(file: string, text: string): void {
    this.#write({ ...this.#read(), [placeOf(file)]: digestOf(text) });
  }

  /** Returns whether it was trusted before, whatever its text was then. */
  untrust(file: string, place = placeOf(file)): boolean {
    const { [place]: known, ...others } = this.#read();
    if (known !== undefined) this.#write(others);
    return known !== undefined;
  }

  #read(): Readonly<Record<string, string>> {
    let text: string | undefined;
    try {
      text = readRegularFile(this.path, { most: MAX_SIZE })?.toString("utf8");
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      const why = fileWords(error, this.path);
      if (code !== "EACCES" && code !== "EPERM") throw this.#broken(why, error);
      const next = "Choose a data folder of your own with --data or TRUNKLINE_DATA.";
      const says = `Cannot read '${this.path}': ${why}. ${next}`;
      throw new TrunklineError("config", says, { cause: error });
    }
    if (text === undefined) return {};
    try {
      const { files } = JSON.parse(text) as { files?: Readonly<Record<string, string>> };
      if (typeof files === "object" && files !== null) return files;
    } catch (error) {
      throw this.#broken("it is not JSON", error);
    }
    throw this.#broken("it has no list of files");
  }

  #write(files: Readonly<Record<string, string>>): void {
    const temporary = `${this.path}.${crypto.randomUUID()}`;
    try {
      mkdirSync(dirname(this.path), { recursive: true, mode: 0o700 });
      const file = openSync(temporary, "wx", 0o600);
      try {
        writeFileSync(file, `${JSON.stringify({ files }, null, 2)}\n`);
        fsyncSync(file);
      } finally {
        closeSync(file);
      }
      renameSync(temporary, this.path);
    } catch (error) {
      rmSync(temporary, { force: true });
      const why = fileWords(error, this.path);
      throw new TrunklineError("config", `Cannot write '${this.path}': ${why}`, { cause: error });
    }
  }

  #broken(why: string, cause?: unknown): TrunklineError {
    const next = "Delete it, then trust your projects again with `trunkline config trust`.";
    return new TrunklineError("config", `Cannot read '${this.path}': ${why}. ${next}`, { cause });
  }
}

/**
 * The folder's real path and the file's own name. The file itself is not followed: a link in a
 * strange project to a file that is trusted elsewhere must not bring that trust along.
 */
function placeOf(file: string): string {
  return join(realpathSync(dirname(file)), basename(file));
}

function digestOf(text: string): string {
  // Loaded when it is needed: few projects have a file to be trusted, and it takes 8 ms.
  return process.getBuiltinModule("node:crypto").hash("sha256", text);
}
