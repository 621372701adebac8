import { lstatSync, readFileSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";

import { fileWords, TrunklineError } from "../../base/errors.ts";
import { hashToken, newToken } from "./access-token.ts";
import { replaceFile, withLock } from "../replace-file.ts";

const FILE = "owner-token";
const TOKEN = /^tlk_[\w-]{43}$/;

/**
 * The token of the owner of the data folder, in a file that nobody else can read. Each lookup checks
 * whether the file has changed, so a running server accepts a new token at once. Only a token that
 * matched is compared again without that, in the same turn of the event loop.
 */
export class OwnerToken {
  readonly path: string;
  readonly #folder: string;
  /** Content of the file when it had `#stamp`; undefined if there is no file that only the owner can read. */
  #token: string | undefined;
  #mark: string | undefined;
  #stamp: string | undefined;
  #hasLooked = false;

  constructor(folder: string) {
    this.#folder = folder;
    this.path = join(folder, FILE);
  }

  /** Creates the token if there is none. A token that others could have read is replaced. */
  async ensure(): Promise<"kept" | "made" | "replaced"> {
    if (this.read() !== undefined) return "kept";
    return this.#locked(async () => {
      // Another process may have created it meanwhile.
      if (this.read() !== undefined) return "kept";
      const isThere = lstatSync(this.path, { throwIfNoEntry: false }) !== undefined;
      await replaceFile(this.path, newToken());
      return isThere ? "replaced" : "made";
    });
  }

  /** Replaces the token; the old one becomes invalid. */
  async rotate(): Promise<void> {
    await this.#locked(() => replaceFile(this.path, newToken()));
  }

  /** The token; undefined if there is none, or others could have read it. Throws if it cannot be read. */
  read(): string | undefined {
    this.#refresh();
    return this.#token;
  }

  is(token: string): boolean {
    return this.match(token) !== undefined;
  }

  /** The mark of a token if it is the owner's. Compares hashes, so that timing tells nothing. */
  match(token: string): string | undefined {
    const hadLooked = this.#hasLooked;
    this.#look();
    const mark = hashToken(token);
    // It may be newer than the look.
    if (mark !== this.#mark && hadLooked) this.#refresh();
    return mark === this.#mark ? mark : undefined;
  }

  /** The hash of the token, which identifies it without giving access. */
  get mark(): string | undefined {
    this.#refresh();
    return this.#mark;
  }

  async #locked<T>(work: () => Promise<T>): Promise<T> {
    await mkdir(this.#folder, { recursive: true, mode: 0o700 });
    return withLock(`${this.path}.lock`, work);
  }

  #look(): void {
    if (this.#hasLooked) return;
    this.#refresh();
    this.#hasLooked = true;
    setImmediate(() => (this.#hasLooked = false));
  }

  /** Reads the file again if it has changed. */
  #refresh(): void {
    const stat = lstatSync(this.path, { bigint: true, throwIfNoEntry: false });
    const stamp =
      stat === undefined
        ? ""
        : `${stat.ino} ${stat.size} ${stat.mtimeNs} ${stat.ctimeNs} ${stat.mode} ${stat.uid}`;
    if (stamp === this.#stamp) return;
    this.#stamp = undefined;
    this.#mark = undefined;
    this.#token = undefined;
    this.#token = stat !== undefined && isSecret(stat) ? readToken(this.path) : undefined;
    this.#mark = this.#token === undefined ? undefined : hashToken(this.#token);
    // A failed read is retried with the next lookup.
    if (this.#token !== undefined || stat === undefined) this.#stamp = stamp;
  }
}

/** A regular file of ours that nobody else can read or write. */
function isSecret(stat: { mode: bigint; uid: bigint; isFile(): boolean }): boolean {
  const uid = process.getuid?.();
  const isOurs = uid === undefined || stat.uid === BigInt(uid);
  return stat.isFile() && isOurs && (stat.mode & 0o077n) === 0n;
}

/** Throws where the file cannot be read: a token that is there must not be taken for none, and replaced. */
function readToken(path: string): string | undefined {
  try {
    const token = readFileSync(path, "utf8").trimEnd();
    return TOKEN.test(token) ? token : undefined;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT") return undefined;
    const says = `Cannot read the owner's token: ${fileWords(error)}`;
    throw new TrunklineError("unavailable", says, { cause: error });
  }
}
