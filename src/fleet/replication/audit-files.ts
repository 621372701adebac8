import { hash } from "node:crypto";
import { type FileHandle, open } from "node:fs/promises";
import { join } from "node:path";

import { auditFiles } from "../../store/audit/audit-reader.ts";

const NEWLINE = 0x0a;

/** Lines of one file of the audit. */
export interface AuditLines {
  /** The file, by its first line: its name and its inode may change. */
  readonly file: string;
  /** The place of the first line in it. */
  readonly from: number;
  readonly lines: Buffer;
}

/** Reads what was added to the audit of this node, by any process. */
export class AuditFiles {
  readonly #data: string;
  /** Files that were set aside and read to their end, by name. */
  readonly #done = new Set<string>();

  /** The files by their inodes. */
  readonly #ids = new Map<number, string>();
  readonly #most: number;

  /** `most` bytes are read at a time; the longest line has less. */
  constructor(data: string, most: number) {
    this.#data = data;
    this.#most = most;
  }

  /** Reads all files again. */
  rewind(): void {
    this.#done.clear();
  }

  /** The next whole lines after what was read of each file; undefined where there are none. */
  async next(read: ReadonlyMap<string, number>): Promise<AuditLines | undefined> {
    const [current, ...older] = await auditFiles(this.#data);
    for (const name of older.toReversed()) {
      if (this.#done.has(name)) continue;
      const found = await this.#read(name, read);
      if (found !== undefined) return found;
      this.#done.add(name);
    }
    return current === undefined ? undefined : this.#read(current, read);
  }

  async #read(name: string, read: ReadonlyMap<string, number>): Promise<AuditLines | undefined> {
    await using file = await open(join(this.#data, name)).catch(() => undefined);
    if (file === undefined) return undefined;
    const { ino, size } = await file.stat();
    const known = this.#ids.get(ino) ?? "";
    const end = read.get(known) ?? 0;
    if (end === size) return undefined;
    if (end > 0 && end < size) {
      const lines = await this.#linesAt(file, end);
      return lines.length === 0 ? undefined : { file: known, from: end, lines };
    }
    const first = await this.#linesAt(file, 0);
    if (first.length === 0) return undefined;
    const id = idOf(first.subarray(0, first.indexOf(NEWLINE)));
    this.#ids.set(ino, id);
    if (read.has(id)) return await this.#read(name, read);
    return { file: id, from: 0, lines: first };
  }

  async #linesAt(file: FileHandle, place: number): Promise<Buffer> {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(this.#most), 0, this.#most, place);
    return wholeLines(buffer.subarray(0, bytesRead));
  }
}

function wholeLines(bytes: Buffer): Buffer {
  return bytes.subarray(0, bytes.lastIndexOf(NEWLINE) + 1);
}

/** Files are in the order of time. */
function idOf(line: Buffer): string {
  const [, time = "1970-01-01T00:00:00.000Z"] =
    /"time":"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z)"/.exec(line.toString()) ?? [];
  return `${time.replaceAll(/[-:.]/g, "")}-${hash("sha256", line).slice(0, 8)}`;
}
