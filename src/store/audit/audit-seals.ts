import type { hash, randomBytes } from "node:crypto";
import { linkSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { AUDIT_FILE, AUDIT_FOLDER, FORMER_FILE, SET_ASIDE } from "./audit-names.ts";

/** How a line begins that seals entries. No entry begins so. */
export const SEAL = '{"seal":{';

const NEWLINE = 0x0a;
/** Bytes of entries that processes of this version write before the first seal, at most. */
const MOST_UNSEALED = 1024 * 1024;

/** What a seal says: how many entries its writer has written, and the hash of them all. */
export interface Seal {
  readonly lines: number;
  readonly hash: string;
  /** Shows that a process of this data folder made it. Versions before this one left it out. */
  readonly mac?: string;
}

/**
 * Seals the entries of one writer in a chain: each seal is the SHA-256 of the one before it and of the
 * lines since. An entry that is changed, removed or added afterwards does not match the next seal.
 * Entries are sealed in the write that puts them into the file, so that a killed process leaves none that
 * nobody confirms. Only the first ones are not: what sealing needs takes long to load.
 */
export class AuditSeals {
  /** Names the writer in each of its lines. */
  readonly writer: string;
  readonly #data: string;
  #key: string | undefined;
  /** Lines in the file, from before the key was there. */
  #unsealed: Buffer[] = [];
  #count = 0;
  #hash: string;

  constructor(data: string, writer = newWriter()) {
    this.#data = data;
    this.writer = writer;
    this.#hash = firstHash(writer);
  }

  /** Lines of this writer are in the file, without a seal. */
  written(lines: Buffer): void {
    if (lines.length > 0) this.#unsealed.push(lines);
  }

  get hasUnsealed(): boolean {
    return this.#unsealed.length > 0;
  }

  /** Whether entries can be sealed. */
  get isReady(): boolean {
    return this.#key !== undefined;
  }

  /** Throws if the key can neither be read nor made. */
  prepare(): void {
    this.#key ??= readKey(this.#data) ?? makeKey(this.#data);
  }

  /** The line that seals what was written, and lines that are about to be. */
  seal(lines: Buffer): string {
    const { hash: hashOf } = cryptography();
    const all = Buffer.concat([...this.#unsealed, lines]);
    this.#unsealed = [];
    this.#count += countLines(all);
    this.#hash = hashOf("sha256", Buffer.concat([Buffer.from(this.#hash), all]));
    const mac = macOf(this.#key ?? "", this.writer, this.#hash);
    const seal: Seal = { lines: this.#count, hash: this.#hash, mac };
    return `${JSON.stringify({ seal, time: new Date().toISOString(), writer: this.writer })}\n`;
  }
}

/** Loading it takes longer than starting to serve: only whoever records something pays for it. */
function cryptography(): { readonly hash: typeof hash; readonly randomBytes: typeof randomBytes } {
  return process.getBuiltinModule("node:crypto");
}

/** What the first seal of a writer goes on from. */
export function firstHash(writer: string): string {
  return `trunkline audit ${writer}\n`;
}

/** What only somebody with the key can say of a seal. */
export function macOf(key: string, writer: string, sealed: string): string {
  return cryptography().hash("sha256", `${key} ${writer} ${sealed} ${key}`);
}

/** The key of a data folder's seals; undefined if there is none. */
export function readKey(data: string): string | undefined {
  try {
    return readFileSync(keyPath(data), "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}

/** How the key ends of an audit that was sealed with it from the first entry on. */
const FROM_THE_FIRST = " first";

/** Whether no entry is older than the key, so that none may be without it. */
export function isOfAll(key: string | undefined): boolean {
  return key?.endsWith(FROM_THE_FIRST) === true;
}

/** Whether an older version has written nothing here: it named no writers, or sealed without a key. */
function isFirst(data: string): boolean {
  const names = [data, join(data, AUDIT_FOLDER)].flatMap((folder) => readdirSync(folder));
  const sizeOf = (name: string) => statSync(join(data, name), { throwIfNoEntry: false })?.size;
  if (names.some((name) => SET_ASIDE.test(name)) || sizeOf(FORMER_FILE) !== undefined) return false;
  const size = sizeOf(AUDIT_FILE);
  if (size === undefined || size > MOST_UNSEALED) return size === undefined;
  const lines = readFileSync(join(data, AUDIT_FILE), "utf8").split("\n").slice(0, -1);
  return lines.every((line) => !line.startsWith(SEAL) && line.includes(',"writer":"'));
}

/** Several processes may make it: the first one's counts. */
function makeKey(data: string): string {
  const { randomBytes: random } = cryptography();
  const path = keyPath(data);
  const own = `${path}.${process.pid}-${random(4).toString("hex")}`;
  const end = isFirst(data) ? FROM_THE_FIRST : "";
  writeFileSync(own, random(32).toString("hex") + end, { mode: 0o600, flag: "wx" });
  try {
    linkSync(own, path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  } finally {
    rmSync(own, { force: true });
  }
  return readFileSync(path, "utf8");
}

function keyPath(data: string): string {
  return join(data, AUDIT_FOLDER, "key");
}

function countLines(bytes: Buffer): number {
  let count = 0;
  for (let at = bytes.indexOf(NEWLINE); at >= 0; at = bytes.indexOf(NEWLINE, at + 1)) {
    count++;
  }
  return count;
}

/** Differs between writers; nobody needs to be unable to guess it. */
function newWriter(): string {
  const random = Math.trunc(Math.random() * 36 ** 4).toString(36);
  return `${process.pid.toString(36)}-${Date.now().toString(36)}-${random}`;
}
