import {
  closeSync,
  constants,
  fstatSync,
  openSync,
  readSync,
  renameSync,
  statSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";

import { beforeSending } from "../../base/event-loop.ts";
import { makeFolder } from "../../base/file/path.ts";

export const AUDIT_FILE = "audit.ndjson";

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
  /** Appends bytes and returns how many were written. Tests replace it with a failing disk. */
  readonly write?: (descriptor: number, bytes: Buffer) => number;
}

type ResolvedOptions = Required<AuditLogOptions>;

const MiB = 1024 * 1024;
const NEWLINE = 0x0a;
/** Appended to by several processes. */
const FLAGS = constants.O_RDWR | constants.O_CREAT | constants.O_APPEND;

/**
 * The record of calls: one JSON object a line in `audit.ndjson` of the data folder, appended in
 * order. Everything recorded in one turn of the event loop is one write, which the system appends
 * whole, so several processes may share the file. A full file is rotated: renamed to the current time.
 *
 * Entries are written before the next message leaves this process, so they survive a kill of the
 * process. They are not synced, so a power failure may lose the last ones.
 *
 * Recording never throws. While the disk fails, entries are buffered up to a limit; entries above it are
 * counted, and the count is recorded.
 */
export class AuditLog implements Disposable {
  readonly #folder: string;
  readonly #path: string;
  readonly #options: ResolvedOptions;
  #lines: string[] = [];
  /** Characters in `#lines`. */
  #waiting = 0;
  #dropped = 0;
  #isDue = false;
  #file: number | undefined;
  #size = 0;
  #checkedAt = -Infinity;
  /** The time in the name of the last file that was set aside. */
  #setAsideAt = 0;
  #isFailing = false;
  /** The file ends in the middle of a line. */
  #isTorn = false;
  #retry: NodeJS.Timeout | undefined;

  /** The file is opened with the first entry. */
  constructor(data: string, options: AuditLogOptions = {}) {
    this.#folder = data;
    this.#path = join(data, AUDIT_FILE);
    this.#options = resolveOptions(options);
  }

  record(entry: object): void {
    const line = this.#lineOf(entry);
    if (this.#waiting + line.length > this.#options.maxWaiting) {
      if (this.#dropped++ === 0) this.#options.report("audit.full", { file: this.#path });
      return;
    }
    this.#waiting += line.length;
    this.#lines.push(line);
    if (this.#isDue || this.#retry !== undefined) return;
    this.#isDue = true;
    beforeSending(this.#due);
  }

  /** Writes all buffered entries, as far as the disk accepts them. */
  flush(): void {
    clearTimeout(this.#retry);
    this.#retry = undefined;
    try {
      while (this.#lines.length > 0) this.#append(this.#takeLines());
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
    const lost = this.#lines.length + this.#dropped;
    if (lost > 0) this.#options.report("audit.lost", { file: this.#path, entries: lost });
    this.#close();
  }

  readonly #due = (): void => {
    this.#isDue = false;
    if (this.#retry === undefined) this.flush();
  };

  #lineOf(entry: object): string {
    try {
      const line = JSON.stringify(entry);
      if (line.length < this.#options.maxLine) return `${line}\n`;
      const left = `(${line.length} characters in all)`;
      return `${JSON.stringify({ ...entry, arguments: left })}\n`;
    } catch (error) {
      return `${JSON.stringify({ time: new Date().toISOString(), unreadable: String(error) })}\n`;
    }
  }

  #takeLines(): string[] {
    const lines = this.#lines;
    this.#lines = [];
    if (this.#dropped === 0) return lines;
    const gap = { time: new Date().toISOString(), dropped: this.#dropped };
    const line = `${JSON.stringify(gap)}\n`;
    this.#dropped = 0;
    this.#waiting += line.length;
    return [...lines, line];
  }

  /** Writes lines. Lines that could not be written stay in the buffer. */
  #append(lines: string[]): void {
    let written = 0;
    try {
      const file = this.#current();
      while (written < lines.length) {
        // A partly written line stays in the file; it is written again after a line end.
        const mend = this.#isTorn ? "\n" : "";
        const rest = written === 0 ? lines : lines.slice(written);
        const batch = Buffer.from(mend + rest.join(""));
        const bytesWritten = this.#options.write(file, batch);
        if (bytesWritten === 0) throw new Error("The disk takes nothing");
        this.#size += bytesWritten;
        this.#isTorn = batch[bytesWritten - 1] !== NEWLINE;
        if (bytesWritten === batch.length) written = lines.length;
        else written += countNewlines(batch, bytesWritten) - mend.length;
      }
      this.#waiting = 0;
    } catch (error) {
      this.#lines = lines.slice(written);
      this.#waiting = this.#lines.reduce((sum, line) => sum + line.length, 0);
      throw error;
    }
  }

  /** The open file; rotated if it is full, reopened if another process has rotated it. */
  #current(): number {
    const { maxFile, checkEvery } = this.#options;
    const now = performance.now();
    if (this.#file !== undefined && now - this.#checkedAt >= checkEvery) {
      this.#checkedAt = now;
      const own = fstatSync(this.#file);
      const named = statSync(this.#path, { throwIfNoEntry: false });
      this.#size = own.size;
      if (named?.ino !== own.ino || named.dev !== own.dev) this.#close();
    }
    if (this.#file !== undefined && this.#size >= maxFile) this.#setAside();
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
    this.#setAside();
    return this.#open();
  }

  #setAside(): void {
    this.#close();
    // A name is used once: two files of one millisecond, or of two processes, must not overwrite each
    // other.
    this.#setAsideAt = Math.max(Date.now(), this.#setAsideAt + 1);
    const time = new Date(this.#setAsideAt).toISOString().replaceAll(/[-:.]/g, "");
    try {
      renameSync(this.#path, join(this.#folder, `audit-${time}-${process.pid}.ndjson`));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
    }
  }

  #close(): void {
    const file = this.#file;
    this.#file = undefined;
    if (file === undefined) return;
    try {
      closeSync(file);
    } catch {
      // Already closed.
    }
  }
}

/** The last byte shows whether a full disk or a power failure left half a line. */
function lastByte(file: number, size: number): number | undefined {
  const byte = Buffer.alloc(1);
  return readSync(file, byte, 0, 1, size - 1) === 1 ? byte[0] : undefined;
}

function countNewlines(bytes: Buffer, end: number): number {
  let count = 0;
  for (let at = bytes.indexOf(NEWLINE); at >= 0 && at < end; at = bytes.indexOf(NEWLINE, at + 1)) {
    count++;
  }
  return count;
}

function resolveOptions(options: AuditLogOptions): ResolvedOptions {
  return {
    report: () => {},
    maxFile: 64 * MiB,
    maxWaiting: 16 * MiB,
    maxLine: 64 * 1024,
    checkEvery: 1_000,
    retryAfter: 1_000,
    write: (descriptor, bytes) => writeSync(descriptor, bytes),
    ...options,
  };
}
