import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";

import { hashToken } from "./access-token.ts";
import { replaceFile, withLock } from "../replace-file.ts";

const FILE = "login-codes.json";
/** Milliseconds until a code expires. */
const GOOD_FOR = 15 * 60_000;
/** Unused codes; above that the oldest are dropped. */
const MOST = 20;

interface StoredCode {
  readonly sha256: string;
  readonly expires: number;
  /** Whoever uses it stays logged in for longer than a working day. */
  readonly isPairing?: boolean;
}

/**
 * One-time codes with which a browser logs in. Only the owner can write the file, so any program of the
 * owner can create a code for the running server. The file has only hashes.
 */
export class LoginCodes {
  readonly #folder: string;
  readonly #path: string;
  readonly #now: () => number;

  constructor(folder: string, now: () => number = Date.now) {
    this.#folder = folder;
    this.#path = join(folder, FILE);
    this.#now = now;
  }

  /** A code for a browser, or to pair a device. */
  async create(isPairing = false): Promise<string> {
    const code = randomBytes(16).toString("base64url");
    const expires = this.#now() + GOOD_FOR;
    const made = { sha256: hashToken(code), expires, ...(isPairing ? { isPairing } : {}) };
    await this.#change((codes) => [...codes, made].slice(-MOST));
    return code;
  }

  /** Uses up a code. What it is for; undefined if it was not valid. */
  async take(code: string): Promise<{ readonly isPairing: boolean } | undefined> {
    const sha256 = hashToken(code);
    const isIt = (kept: StoredCode): boolean => kept.sha256 === sha256;
    // Invalid codes take no lock and write nothing.
    if (!this.#read().some(isIt)) return undefined;
    let taken: StoredCode | undefined;
    await this.#change((codes) => {
      taken = codes.find(isIt);
      return codes.filter((kept) => !isIt(kept));
    });
    return taken && { isPairing: taken.isPairing === true };
  }

  async #change(change: (codes: readonly StoredCode[]) => readonly StoredCode[]): Promise<void> {
    await mkdir(this.#folder, { recursive: true, mode: 0o700 });
    await withLock(`${this.#path}.lock`, async () => {
      await replaceFile(this.#path, JSON.stringify({ codes: change(this.#read()) }));
    });
  }

  /** The valid codes. A file without sense has none. Throws if it cannot be read. */
  #read(): readonly StoredCode[] {
    let text: string;
    try {
      text = readFileSync(this.#path, "utf8");
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
      throw error;
    }
    try {
      const { codes } = JSON.parse(text) as { codes: StoredCode[] };
      return codes.filter(({ expires }) => expires > this.#now());
    } catch {
      return [];
    }
  }
}
