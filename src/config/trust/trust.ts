import { realpathSync } from "node:fs";
import { basename, dirname, join } from "node:path";

import { fileWords, TrunklineError } from "../../base/errors.ts";
import { readRegularFile } from "../../base/file/read-regular-file.ts";
import { replaceFile } from "../../store/replace-file.ts";
import { openData } from "../data-folder.ts";

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

  async trust(file: string, text: string): Promise<void> {
    await this.#write({ ...this.#read(), [placeOf(file)]: digestOf(text) });
  }

  /** Returns whether it was trusted before, whatever its text was then. */
  async untrust(file: string, place = placeOf(file)): Promise<boolean> {
    const { [place]: known, ...others } = this.#read();
    if (known !== undefined) await this.#write(others);
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

  async #write(files: Readonly<Record<string, string>>): Promise<void> {
    openData(dirname(this.path));
    // Loaded on demand: every start in a project reads, and few write.
    await replaceFile(this.path, `${JSON.stringify({ files }, null, 2)}\n`);
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
