import { randomBytes } from "node:crypto";
import { join } from "node:path";

import { hashToken } from "./access-token.ts";
import { RecordFile } from "../record-file.ts";

const FILE = "login-codes.json";
/** Milliseconds until a code expires. */
const GOOD_FOR = 15 * 60_000;
/** Unused codes; above that the oldest are dropped. */
const MOST = 20;

interface StoredCode {
  readonly sha256: string;
  readonly expires: number;
  /** The device that uses it stays logged in for longer than a working day. */
  readonly isPairing?: boolean;
}

/**
 * One-time codes with which a browser logs in. Only the owner can write the file, so any program of the
 * owner can create a code for the running server. The file has only hashes.
 */
export class LoginCodes {
  readonly #file: RecordFile<readonly StoredCode[]>;
  readonly #now: () => number;

  constructor(folder: string, now: () => number = Date.now) {
    this.#file = new RecordFile(join(folder, FILE));
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

  /** Uses up a code. Returns its kind; undefined if it was not valid. */
  async take(code: string): Promise<{ readonly isPairing: boolean } | undefined> {
    const sha256 = hashToken(code);
    const isIt = (kept: StoredCode): boolean => kept.sha256 === sha256;
    // Invalid codes take no lock and write nothing.
    if ((await this.#file.get("codes"))?.some(isIt) !== true) return undefined;
    let taken: StoredCode | undefined;
    await this.#change((codes) => {
      taken = codes.find(isIt);
      return codes.filter((kept) => !isIt(kept));
    });
    return taken && { isPairing: taken.isPairing === true };
  }

  async #change(change: (codes: readonly StoredCode[]) => readonly StoredCode[]): Promise<void> {
    await this.#file.change("codes", (codes = []) =>
      change(codes.filter(({ expires }) => expires > this.#now())),
    );
  }
}
