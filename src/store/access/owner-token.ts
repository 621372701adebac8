import { lstatSync, readFileSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";

import { hashToken, newToken } from "./access-token.ts";
import { replaceFile, withLock } from "../replace-file.ts";

const FILE = "owner-token";
const TOKEN = /^tlk_[\w-]{43}$/;

/**
 * The token of whoever owns the data folder, in a file that nobody else can read: who can read it
 * could as well start our programs. Whoever asks is told of the file as it is at that moment, so a
 * server that runs goes by a new token at once.
 */
export class OwnerToken {
  readonly path: string;
  readonly #folder: string;
  /** As it was when the file had the stamp below; undefined where there is none that is secret. */
  #token: string | undefined;
  #mark: string | undefined;
  #stamp: string | undefined;

  constructor(folder: string) {
    this.#folder = folder;
    this.path = join(folder, FILE);
  }

  /** Makes one where there is none. One that others could read is no secret, and is replaced. */
  async ensure(): Promise<"kept" | "made" | "replaced"> {
    if (this.read() !== undefined) return "kept";
    return this.#locked(async () => {
      // Another process may have been first.
      if (this.read() !== undefined) return "kept";
      const isThere = lstatSync(this.path, { throwIfNoEntry: false }) !== undefined;
      await replaceFile(this.path, newToken());
      return isThere ? "replaced" : "made";
    });
  }

  /** Puts a new one in the place of the old, which opens nothing any more. */
  async rotate(): Promise<void> {
    await this.#locked(() => replaceFile(this.path, newToken()));
  }

  /** The token, where there is one that is secret. */
  read(): string | undefined {
    this.#look();
    return this.#token;
  }

  is(token: string): boolean {
    return this.match(token) !== undefined;
  }

  /** The mark of a token, if it is the owner's. Hashes are compared, whose likeness tells nothing. */
  match(token: string): string | undefined {
    this.#look();
    const mark = hashToken(token);
    return mark === this.#mark ? mark : undefined;
  }

  /** Tells one token from the next, without being any use to whoever learns it. */
  get mark(): string | undefined {
    this.#look();
    return this.#mark;
  }

  async #locked<T>(work: () => Promise<T>): Promise<T> {
    await mkdir(this.#folder, { recursive: true, mode: 0o700 });
    return withLock(`${this.path}.lock`, work);
  }

  /** Reads the file where it is not the one that was read last. */
  #look(): void {
    const stat = lstatSync(this.path, { bigint: true, throwIfNoEntry: false });
    const stamp =
      stat === undefined
        ? ""
        : `${stat.ino} ${stat.size} ${stat.mtimeNs} ${stat.ctimeNs} ${stat.mode} ${stat.uid}`;
    if (stamp === this.#stamp) return;
    this.#stamp = undefined;
    this.#token = stat !== undefined && isSecret(stat) ? readToken(this.path) : undefined;
    this.#mark = this.#token === undefined ? undefined : hashToken(this.#token);
    // One that could not be read is read again: a disk may fail once.
    if (this.#token !== undefined || stat === undefined) this.#stamp = stamp;
  }
}

/** A file of ours that nobody else can read. Whoever could put another in its place is let in by none. */
function isSecret(stat: { mode: bigint; uid: bigint; isFile(): boolean }): boolean {
  const uid = process.getuid?.();
  const isOurs = uid === undefined || stat.uid === BigInt(uid);
  return stat.isFile() && isOurs && (stat.mode & 0o077n) === 0n;
}

function readToken(path: string): string | undefined {
  try {
    const token = readFileSync(path, "utf8").trimEnd();
    return TOKEN.test(token) ? token : undefined;
  } catch {
    return undefined;
  }
}
