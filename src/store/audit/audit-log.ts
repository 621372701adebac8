import type { Hash } from "node:crypto";
import {
  linkSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
  closeSync,
  constants,
  fstatSync,
  openSync,
  readSync,
  renameSync,
  rmdirSync,
  writeSync,
  mkdirSync,
} from "node:fs";
import { attempt } from "../../base/attempt.ts";
import { AUDIT_FILE, AUDIT_FOLDER, nameAfter } from "./audit-names.ts";
import { join } from "node:path";
import { beforeSending } from "../../base/event-loop.ts";
import { makeFolder } from "../../base/file/path.ts";

export interface AuditLogOptions {
  /** Called when entries cannot be written. */
  readonly report?: (event: string, fields: Record<string, unknown>) => void;
  /** Bytes after which the file is rotated. */
  readonly maxFile?: number;
  /** Characters that are buffered while the disk fails. */
  readonly maxWaiting?: number;
  /** Characters of one line; a longer one is written without its arguments. */
  readonly maxLine?: number;
  /** Milliseconds between checks whether another process has rotated the file. */
  readonly checkEvery?: number;
  /** Milliseconds until a failed write is retried. */
  readonly retryAfter?: number;
  /** A second file for seals, where somebody who tampers with the audit cannot write. */
  readonly anchor?: string | undefined;
  /** Milliseconds after which a seal is appended to the anchor. */
  readonly anchorAfter?: number;
  /** Appends bytes and returns how many were written. Tests replace it with a failing disk. */
  readonly write?: (descriptor: number, bytes: Buffer) => number;
}

/** O_NONBLOCK: opening a pipe that nobody reads fails, instead of waiting for a reader. */
const ANCHOR = {
  flag: constants.O_WRONLY | constants.O_CREAT | constants.O_APPEND | constants.O_NONBLOCK,
  mode: 0o600,
};

const MiB = 1024 * 1024;
const USUAL = {
  report: (() => {}) as NonNullable<AuditLogOptions["report"]>,
  maxFile: 64 * MiB,
  maxWaiting: 16 * MiB,
  maxLine: 64 * 1024,
  checkEvery: 1_000,
  retryAfter: 1_000,
  anchorAfter: 1_000,
  write: writeSync as NonNullable<AuditLogOptions["write"]>,
};
const NEWLINE = 0x0a;
const LINE_END = Buffer.from("\n");
/** Appended to by several processes. */
const FLAGS = constants.O_RDWR | constants.O_CREAT | constants.O_APPEND;

/**
 * The record of calls: one JSON object a line in `audit/audit.ndjson` of the data folder, appended in
 * order. Everything recorded in one turn of the event loop is one write, which the system appends
 * whole, so several processes may share the file. A full file is rotated: renamed to the current time.
 *
 * Entries are written before the next message leaves this process, so they survive a kill of the
 * process. They are not synced, so a power failure may lose the last ones.
 *
 * Each line names its writer, and each writer seals its lines (audit-seals.ts), so that changes of the
 * file can be found.
 *
 * Recording never throws. While the disk fails, entries are buffered up to a limit; entries above it are
 * counted, and the count is recorded.
 */
export class AuditLog implements Disposable {
  readonly #folder: string;
  readonly #path: string;
  readonly #options: typeof USUAL & Pick<AuditLogOptions, "anchor">;
  /** Pieces of lines that are not written yet: joining them once is cheaper than adding each. */
  readonly #pieces: string[] = [];
  #length = 0;
  /** The number of lines in `#pieces`. */
  #count = 0;
  /** Bytes of the pieces, at their beginning, that are sealed. */
  #sealed = 0;
  /** The last seal, and the last one that is written to the file but not to the anchor. */
  #lastSeal: string | undefined;
  #toAnchor: string | undefined;
  #dropped = 0;
  #isDue = false;
  #file: number | undefined;
  #size = 0;
  #checkedAt = -Infinity;
  #isFailing = false;
  /** The file ends in the middle of a line. */
  #isTorn = false;
  #retry: NodeJS.Timeout | undefined;
  readonly #seals: ReturnType<typeof auditSeals>;
  /** The end of each line. */
  readonly #end: string;
  #anchorDue: NodeJS.Timeout | undefined;
  #isSealing = true;
  #isAnchored = true;
  /** Seals that are on their way to the anchor. */
  #unanchored = 0;
  #anchoring: Promise<unknown> = Promise.resolve();

  /** The file is opened with the first entry. */
  constructor(data: string, options: AuditLogOptions = {}) {
    this.#folder = join(data, AUDIT_FOLDER);
    this.#path = join(data, AUDIT_FILE);
    this.#options = { ...USUAL, ...options };
    this.#seals = auditSeals(data);
    this.#end = `,"writer":"${this.#seals.writer}"}\n`;
  }

  record(entry: object): void {
    const line = this.#lineOf(entry);
    if (this.#length + line.length > this.#options.maxWaiting) {
      if (this.#dropped++ === 0) this.#options.report("audit.full", { file: this.#path });
      return;
    }
    this.#pieces.push(line);
    this.#length += line.length;
    this.#count++;
    if (this.#isDue || this.#retry !== undefined) return;
    this.#isDue = true;
    beforeSending(() => {
      this.#isDue = false;
      if (this.#retry === undefined) this.flush();
    });
  }

  /** Writes all buffered entries, as far as the disk accepts them. */
  flush(): void {
    clearTimeout(this.#retry);
    this.#retry = undefined;
    try {
      this.#appendLines();
      this.#isFailing = false;
    } catch (error) {
      if (!this.#isFailing) this.#options.report("audit.failed", { file: this.#path, error });
      this.#isFailing = true;
      this.#close();
      this.#retry = setTimeout(() => this.flush(), this.#options.retryAfter).unref();
    }
  }

  [Symbol.dispose](): void {
    this.flush();
    clearTimeout(this.#retry);
    clearTimeout(this.#anchorDue);
    this.#anchorLast();
    const lost = this.#count + this.#dropped;
    if (lost > 0) this.#options.report("audit.lost", { file: this.#path, entries: lost });
    this.#close();
  }

  /** The line of an entry, with the name of its writer. */
  #lineOf(entry: object): string {
    let json: string;
    try {
      json = JSON.stringify(entry);
      if (json.length >= this.#options.maxLine) {
        const left = `(${json.length} characters in all)`;
        json = JSON.stringify({ ...entry, arguments: left, given: undefined });
      }
    } catch (error) {
      json = JSON.stringify({ time: new Date().toISOString(), unreadable: String(error) });
    }
    return json.slice(0, -1) + this.#end;
  }

  /** Appends the last seal to the anchor. Calls do not wait for it: it may be on another machine. */
  #anchor(anchor: string): void {
    const line = this.#toAnchor;
    this.#anchorDue = undefined;
    this.#toAnchor = undefined;
    if (line === undefined) return;
    const { appendFile } = process.getBuiltinModule("node:fs/promises");
    this.#unanchored++;
    this.#anchoring = this.#anchoring
      .then(() => appendFile(anchor, line, ANCHOR))
      .then(
        () => (this.#isAnchored = true),
        (error: unknown) => this.#notAnchored(error),
      )
      .finally(() => this.#unanchored--);
  }

  #notAnchored(error: unknown): void {
    const { anchor: file, report } = this.#options;
    if (this.#isAnchored) report("audit.not-anchored", { file, error });
    this.#isAnchored = false;
  }

  /** Appends the last seal synchronously when the log is disposed of. */
  #anchorLast(): void {
    const { anchor } = this.#options;
    const line = this.#toAnchor;
    if (anchor === undefined || line === undefined) return;
    try {
      if (this.#unanchored > 0) throw new Error("An earlier seal is still being written there");
      const file = openSync(anchor, ANCHOR.flag, ANCHOR.mode);
      try {
        writeSync(file, line);
      } finally {
        closeSync(file);
      }
    } catch (error) {
      this.#notAnchored(error);
    }
  }

  /**
   * Appends the buffered lines, and a seal behind them. Lines that cannot be written stay buffered; a
   * partly written one is written again after a line end.
   */
  #appendLines(): void {
    if (this.#dropped > 0) {
      this.#pieces.push(this.#lineOf({ time: new Date().toISOString(), dropped: this.#dropped }));
      this.#count++;
      this.#dropped = 0;
    }
    if (this.#pieces.length === 0) return;
    const file = this.#current();
    let lines = Buffer.from(this.#pieces.join(""));
    if (lines.length > this.#sealed) {
      try {
        this.#lastSeal = this.#seals.seal(lines.subarray(this.#sealed));
        lines = Buffer.concat([lines, Buffer.from(this.#lastSeal)]);
        this.#isSealing = true;
      } catch (error) {
        // A record without a seal is better than none.
        if (this.#isSealing) this.#options.report("audit.not-sealed", { file: this.#path, error });
        this.#isSealing = false;
      }
    }
    let end = 0;
    try {
      while (end < lines.length) {
        const left = lines.subarray(end);
        const mend = this.#isTorn ? 1 : 0;
        const rest = this.#isTorn ? Buffer.concat([LINE_END, left]) : left;
        const bytesWritten = this.#options.write(file, rest);
        if (bytesWritten === 0) throw new Error("The disk accepts no more bytes");
        this.#size += bytesWritten;
        this.#isTorn = rest[bytesWritten - 1] !== NEWLINE;
        // The last line end that was written; where there is none, nothing more is whole.
        const whole = this.#isTorn ? rest.lastIndexOf(NEWLINE, bytesWritten - 1) + 1 : bytesWritten;
        end += Math.max(0, whole - mend);
      }
    } finally {
      const rest = lines.toString("utf8", end);
      this.#pieces.splice(0, Infinity, ...(rest === "" ? [] : [rest]));
      this.#count = rest === "" ? 0 : countEntries(rest);
      this.#length = rest.length;
      this.#sealed = lines.length - end;
    }
    const { anchor, anchorAfter } = this.#options;
    if (anchor === undefined) return;
    this.#toAnchor = this.#lastSeal;
    this.#anchorDue ??= setTimeout(() => this.#anchor(anchor), anchorAfter).unref();
  }

  /** The open file; rotated if it is full, reopened if another process has rotated it. */
  #current(): number {
    const { maxFile, checkEvery } = this.#options;
    const now = performance.now();
    if (this.#file !== undefined && now - this.#checkedAt >= checkEvery) {
      this.#checkedAt = now;
      this.#size = fstatSync(this.#file).size;
      if (!this.#isCurrent(this.#file)) this.#close();
    }
    if (this.#file !== undefined && this.#size >= maxFile) this.#setAside(this.#file);
    return this.#file ?? this.#open();
  }

  #open(): number {
    makeFolder(this.#folder, 0o700);
    const file = openSync(this.#path, FLAGS, 0o600);
    this.#file = file;
    this.#size = fstatSync(file).size;
    this.#checkedAt = performance.now();
    this.#isTorn = this.#size > 0 && lastByte(file, this.#size) !== NEWLINE;
    if (this.#size < this.#options.maxFile) return file;
    return this.#setAside(file) ? this.#open() : file;
  }

  /** Whether nobody has renamed the file. */
  #isCurrent(file: number): boolean {
    const own = fstatSync(file);
    const named = statSync(this.#path, { throwIfNoEntry: false });
    return named?.ino === own.ino && named.dev === own.dev;
  }

  /**
   * Closes a full file and renames it. One process at a time, so that names are in the order of the
   * files. False if another process is doing it: this one continues with its open file.
   */
  #setAside(file: number): boolean {
    const lock = `${this.#path}.lock`;
    if (!tryLock(lock)) return false;
    try {
      if (this.#isCurrent(file)) {
        renameSync(this.#path, join(this.#folder, nameAfter(readdirSync(this.#folder))));
      }
    } finally {
      rmdirSync(lock);
    }
    this.#close();
    return true;
  }

  #close(): void {
    const file = this.#file;
    this.#file = undefined;
    if (file === undefined) return;
    // Already closed.
    attempt(() => closeSync(file));
  }
}

/** The last byte shows whether a full disk or a power failure left half a line. */
function lastByte(file: number, size: number): number | undefined {
  const byte = Buffer.alloc(1);
  return readSync(file, byte, 0, 1, size - 1) === 1 ? byte[0] : undefined;
}

function countEntries(text: string): number {
  return text.split("\n").filter((line) => line !== "" && !line.startsWith(SEAL)).length;
}

/** The beginning of a line that is a seal. No entry begins like this. */
export const SEAL = '{"seal":{';

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
 * nobody confirms.
 */
function auditSeals(data: string) {
  /** Names the writer in each of its lines. */
  const writer = newWriter();
  let key: string | undefined;
  let count = 0;
  /** The hash of the last seal, and of the lines since. */
  let chain: Hash | undefined;
  return {
    writer,
    /**
     * The line that seals lines which are about to be written, and those before that have no seal. Throws
     * if the key can neither be read nor made: the next seal covers these lines, too.
     */
    seal(lines: Buffer): string {
      // Loaded on demand: loading it takes longer than the rest of the start.
      const { createHash } = process.getBuiltinModule("node:crypto");
      chain ??= createHash("sha256").update(firstHash(writer));
      chain.update(lines);
      let end = -1;
      while ((end = lines.indexOf(NEWLINE, end + 1)) >= 0) count++;
      key ??= readKey(data) ?? makeKey(data);
      const hash = chain.digest("hex");
      chain = createHash("sha256").update(hash);
      const seal: Seal = { lines: count, hash, mac: macOf(key, writer, hash) };
      return `${JSON.stringify({ seal, time: new Date().toISOString(), writer })}\n`;
    },
  };
}

/** The start of a writer's hash chain. */
export function firstHash(writer: string): string {
  return `trunkline audit ${writer}\n`;
}

/** The authentication code of a seal, which only somebody with the key can compute. */
export function macOf(key: string, writer: string, sealed: string): string {
  const { hash } = process.getBuiltinModule("node:crypto");
  return hash("sha256", `${key} ${writer} ${sealed} ${key}`);
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

/** Several processes may create it at once; the first one wins. */
function makeKey(data: string): string {
  const { randomBytes: random } = process.getBuiltinModule("node:crypto");
  const path = keyPath(data);
  const own = `${path}.${process.pid}-${random(4).toString("hex")}`;
  try {
    writeFileSync(own, random(32).toString("hex"), { mode: 0o600, flag: "wx" });
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

/** A unique name. It is not a secret. */
function newWriter(): string {
  const random = Math.trunc(Math.random() * 36 ** 4).toString(36);
  return `${process.pid.toString(36)}-${Date.now().toString(36)}-${random}`;
}

/** Milliseconds after which a lock is stale: its holder only renames a file, so it must have died. */
const LOCK_AGE = 10_000;

/** Creates a folder that stands for a lock. False if somebody else has it. */
export function tryLock(path: string): boolean {
  try {
    mkdirSync(path, { mode: 0o700 });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  }
  const age = Date.now() - (statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? Infinity);
  // The next attempt takes it.
  if (age > LOCK_AGE) rmSync(path, { recursive: true, force: true });
  return false;
}
