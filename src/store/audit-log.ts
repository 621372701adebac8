import { constants } from "node:fs";
import { mkdir, rename, stat } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";

import { type AuditLogOptions, type ResolvedOptions, resolveOptions } from "./audit-options.ts";
import { closeDescriptor, openDescriptor, statDescriptor } from "./descriptor.ts";

export const AUDIT_FILE = "audit.ndjson";

const NEWLINE = 0x0a;
/** Private to its owner, appended to by whoever has it open. */
const FLAGS = constants.O_WRONLY | constants.O_CREAT | constants.O_APPEND;

/**
 * The record of calls: one JSON object a line in `audit.ndjson` of the data folder, appended in
 * order. Everything recorded in one turn of the event loop is one write, which the system appends
 * whole, so several processes may share the file. A file that is full is set aside under the name of
 * that moment.
 *
 * Recording waits for nothing and never fails. While the disk does not take anything, what is
 * recorded waits up to a limit; beyond that it is counted, and the count stands in the record.
 */
export class AuditLog implements AsyncDisposable {
  readonly #folder: string;
  readonly #path: string;
  readonly #options: ResolvedOptions;
  #lines: string[] = [];
  /** Characters in `#lines` and in what is being written. */
  #waiting = 0;
  #inFlight = 0;
  #dropped = 0;
  #writing: Promise<void> | undefined;
  #file: number | undefined;
  #size = 0;
  #checkedAt = -Infinity;
  #isFailing = false;
  /** The file ends in the middle of a line. */
  #isTorn = false;
  #retry: NodeJS.Timeout | undefined;

  /** Opens nothing until there is something to write. */
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
    if (this.#retry === undefined) this.#writing ??= this.#write();
  }

  /** Resolves when all that was recorded is in the file, or cannot be put there now. */
  async flush(): Promise<void> {
    while (this.#writing !== undefined) await this.#writing;
    if (this.#lines.length > 0) await (this.#writing = this.#write());
  }

  /** Writes what is left, as far as the disk takes it within a moment. */
  async [Symbol.asyncDispose](): Promise<void> {
    const stop = new AbortController();
    const late = delay(this.#options.closeGrace, undefined, { signal: stop.signal }).catch(
      () => {},
    );
    await Promise.race([this.flush(), late]);
    stop.abort();
    clearTimeout(this.#retry);
    const lost = this.#lines.length + this.#inFlight + this.#dropped;
    if (lost > 0) this.#options.report("audit.lost", { file: this.#path, entries: lost });
    // A disk that hangs would hang here too.
    if (this.#writing === undefined) await this.#close();
  }

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

  async #write(): Promise<void> {
    // All that this turn of the event loop records goes into one write.
    await new Promise(setImmediate);
    try {
      while (this.#lines.length > 0) await this.#append(this.#takeLines());
      this.#isFailing = false;
    } catch (error) {
      if (!this.#isFailing) this.#options.report("audit.failed", { file: this.#path, error });
      this.#isFailing = true;
      await this.#close();
      clearTimeout(this.#retry);
      this.#retry = setTimeout(() => {
        this.#retry = undefined;
        if (this.#lines.length > 0) this.#writing ??= this.#write();
      }, this.#options.retryAfter).unref();
    } finally {
      this.#writing = undefined;
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

  /** Puts back what was not written, so that nothing is lost or written twice. */
  async #append(lines: string[]): Promise<void> {
    let written = 0;
    this.#inFlight = lines.length;
    try {
      const file = await this.#current();
      while (written < lines.length) {
        // A line that the disk took only the beginning of stays torn, and is written again whole.
        const mend = this.#isTorn ? "\n" : "";
        const batch = Buffer.from(mend + lines.slice(written).join(""));
        const bytesWritten = await this.#options.write(file, batch);
        if (bytesWritten === 0) throw new Error("The disk takes nothing");
        this.#size += bytesWritten;
        this.#isTorn = batch[bytesWritten - 1] !== NEWLINE;
        written += countNewlines(batch, bytesWritten) - mend.length;
      }
    } catch (error) {
      this.#lines = [...lines.slice(written), ...this.#lines];
      throw error;
    } finally {
      this.#inFlight = 0;
      for (const line of lines.slice(0, written)) this.#waiting -= line.length;
    }
  }

  /** The file to append to: another one when this one is full, or was set aside by somebody. */
  async #current(): Promise<number> {
    const { maxFile, checkEvery } = this.#options;
    const now = performance.now();
    if (this.#file !== undefined && now - this.#checkedAt >= checkEvery) {
      this.#checkedAt = now;
      const [own, named] = await Promise.all([
        statDescriptor(this.#file),
        stat(this.#path).catch(() => null),
      ]);
      this.#size = own.size;
      if (named === null || named.ino !== own.ino || named.dev !== own.dev) await this.#close();
    }
    if (this.#file !== undefined && this.#size >= maxFile) await this.#setAside();
    return this.#file ?? this.#open();
  }

  async #open(): Promise<number> {
    await mkdir(this.#folder, { recursive: true, mode: 0o700 });
    const file = await openDescriptor(this.#path, FLAGS, 0o600);
    this.#file = file;
    this.#size = (await statDescriptor(file)).size;
    this.#checkedAt = performance.now();
    if (this.#size < this.#options.maxFile) return file;
    await this.#setAside();
    return this.#open();
  }

  async #setAside(): Promise<void> {
    await this.#close();
    const time = new Date().toISOString().replaceAll(/[-:.]/g, "");
    // Two processes that do this at once must not overwrite each other's.
    await rename(this.#path, join(this.#folder, `audit-${time}-${process.pid}.ndjson`)).catch(
      (error: NodeJS.ErrnoException) => {
        if (error.code !== "ENOENT") throw error;
      },
    );
  }

  async #close(): Promise<void> {
    const file = this.#file;
    this.#file = undefined;
    if (file !== undefined) await closeDescriptor(file);
  }
}

function countNewlines(bytes: Buffer, end: number): number {
  let count = 0;
  for (let at = bytes.indexOf(NEWLINE); at >= 0 && at < end; at = bytes.indexOf(NEWLINE, at + 1)) {
    count++;
  }
  return count;
}
