import { constants, type Dirent } from "node:fs";
import { type FileHandle, open, readdir, readlink } from "node:fs/promises";
import { join } from "node:path";

import { TrunklineError } from "../../base/errors.ts";
import { secretForms, SHORTEST_SECRET } from "../../base/text/mask.ts";

const CHUNK = 1024 * 1024;

interface Form {
  readonly secret: string;
  readonly bytes: Buffer;
}

/** A file that holds a secret. */
export interface SecretFinding {
  /** Relative to the folder that was searched. */
  readonly path: string;
  /** The whole path as bytes. */
  readonly file: Buffer;
  /** The name of the secret. */
  readonly secret: string;
}

/**
 * Finds the values of secrets in files: as they are, and in the encodings that configuration files and
 * addresses use. Compressed or encrypted values are not found.
 */
export class SecretSearch {
  readonly #forms: readonly Form[];
  readonly #longest: number;

  /** Throws "usage" for a value that is too short to be found reliably. */
  constructor(secrets: Readonly<Record<string, string>>) {
    this.#forms = Object.entries(secrets).flatMap(([secret, value]) => {
      if (value.length < SHORTEST_SECRET) {
        const why = `it has fewer than ${SHORTEST_SECRET} characters, too few to be found reliably in files`;
        throw new TrunklineError("usage", `Cannot use the secret '${secret}': ${why}.`);
      }
      return secretForms(value).map((form) => ({ secret, bytes: Buffer.from(form) }));
    });
    this.#longest = Math.max(0, ...this.#forms.map(({ bytes }) => bytes.length));
  }

  /** Searches all files below a folder, their names, and the targets of links. */
  async findIn(folder: string): Promise<SecretFinding[]> {
    if (this.#forms.length === 0) return [];
    const findings: SecretFinding[] = [];
    const waiting = [""];
    for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
      const inside = bytesOf(folder, path);
      for (const entry of await readdir(inside, { withFileTypes: true, encoding: "latin1" })) {
        const at = join(path, entry.name);
        const file = bytesOf(folder, at);
        const secret = await this.#findInEntry(entry, file);
        if (secret !== undefined) findings.push({ path: readable(at), file, secret });
        else if (entry.isDirectory()) waiting.push(at);
      }
    }
    return findings;
  }

  async #findInEntry(entry: Dirent, path: Buffer): Promise<string | undefined> {
    const inName = this.#findIn(Buffer.from(entry.name, "latin1"));
    if (inName !== undefined) return inName;
    if (entry.isFile()) return await this.#findInFile(path);
    return entry.isSymbolicLink() ? this.#findIn(await readlink(path, "buffer")) : undefined;
  }

  #findIn(bytes: Buffer): string | undefined {
    return this.#forms.find((form) => bytes.includes(form.bytes))?.secret;
  }

  async #findInFile(path: Buffer): Promise<string | undefined> {
    await using file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW);
    const buffer = Buffer.alloc(CHUNK + this.#longest);
    // The end of a chunk is searched again with the next: a secret may span both.
    for (let kept = 0; ;) {
      const read = await fill(file, buffer, kept);
      const secret = this.#findIn(buffer.subarray(0, kept + read));
      if (secret !== undefined) return secret;
      if (kept + read < buffer.length) return undefined;
      buffer.copyWithin(0, buffer.length - this.#longest);
      kept = this.#longest;
    }
  }
}

/** Names on disk are bytes that need not be UTF-8; latin1 preserves them. */
function bytesOf(folder: string, path: string): Buffer {
  return Buffer.concat([Buffer.from(`${folder}/`), Buffer.from(path, "latin1")]);
}

function readable(path: string): string {
  return Buffer.from(path, "latin1").toString("utf8");
}

/** Reads until the buffer is full or the file ends. */
async function fill(file: FileHandle, buffer: Buffer, from: number): Promise<number> {
  let at = from;
  while (at < buffer.length) {
    const { bytesRead } = await file.read(buffer, at, buffer.length - at);
    if (bytesRead === 0) break;
    at += bytesRead;
  }
  return at - from;
}
