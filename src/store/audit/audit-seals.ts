import type { hash } from "node:crypto";

/** How a line begins that seals entries. No entry begins so. */
export const SEAL = '{"seal":{';

/** Bytes of entries after which they are sealed. */
const MOST = 1024 * 1024;

/** What a seal says: how many entries its writer has written, and the hash of them all. */
export interface Seal {
  readonly lines: number;
  readonly hash: string;
}

/**
 * Seals the entries of one writer in a chain: each seal is the SHA-256 of the one before it and of the
 * lines since. An entry that is changed, removed or added afterwards does not match the next seal.
 * Entries are sealed many at a time, and after their call was answered: no call waits for a hash.
 */
export class AuditSeals {
  /** Names the writer in each of its lines. */
  readonly writer: string;
  /** Bytes, not strings: many strings that live for a second keep the garbage collector busy. */
  #unsealed: Buffer[] = [];
  #bytes = 0;
  #count = 0;
  #hash: string;

  constructor(writer = newWriter()) {
    this.writer = writer;
    this.#hash = firstHash(writer);
  }

  /** So many lines of this writer are in the file. */
  written(lines: Buffer, count: number): void {
    if (count === 0) return;
    this.#unsealed.push(lines);
    this.#bytes += lines.length;
    this.#count += count;
  }

  get hasUnsealed(): boolean {
    return this.#unsealed.length > 0;
  }

  get isFull(): boolean {
    return this.#bytes >= MOST;
  }

  /** The line that seals what was written; undefined where everything is sealed. */
  seal(): string | undefined {
    if (this.#unsealed.length === 0) return undefined;
    this.#hash = cryptography().hash(
      "sha256",
      Buffer.concat([Buffer.from(this.#hash), ...this.#unsealed]),
    );
    this.#unsealed = [];
    this.#bytes = 0;
    const seal: Seal = { lines: this.#count, hash: this.#hash };
    return `${JSON.stringify({ seal, time: new Date().toISOString(), writer: this.writer })}\n`;
  }
}

/** Loading it takes longer than starting to serve: only whoever records something pays for it. */
export function cryptography(): { readonly hash: typeof hash } {
  return process.getBuiltinModule("node:crypto");
}

/** What the first seal of a writer goes on from. */
export function firstHash(writer: string): string {
  return `trunkline audit ${writer}\n`;
}

/** Differs between writers; nobody needs to be unable to guess it. */
function newWriter(): string {
  const random = Math.trunc(Math.random() * 36 ** 4).toString(36);
  return `${process.pid.toString(36)}-${Date.now().toString(36)}-${random}`;
}
