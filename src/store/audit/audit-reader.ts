import { type FileHandle, open, readdir } from "node:fs/promises";
import { join } from "node:path";

import { AUDIT_FILE, AUDIT_FOLDER, SET_ASIDE } from "./audit-names.ts";
import { SEAL } from "./audit-log.ts";
import { objectIn } from "../../base/check.ts";

const CHUNK = 64 * 1024;
const NEWLINE = 0x0a;

/**
 * An entry, and its position: the inode of its file and the offset in it. A full file gets another name, so
 * the name would not do.
 */
export interface AuditRecord {
  readonly place: string;
  readonly entry: Readonly<Record<string, unknown>>;
}

/** `before` is the place of an entry: reading continues with the one before it. */
export interface ReadingOptions {
  readonly before?: string | undefined;
  /** Called with the bytes of each read. */
  readonly spent?: (bytes: number) => void;
}

/**
 * Reads the audit from its end: the newest entries first, over all files. Seals are skipped, and lines
 * that are not entries, which a full disk or a power failure leaves.
 */
export async function* auditBackwards(
  data: string,
  options: ReadingOptions = {},
): AsyncGenerator<AuditRecord> {
  const paths = (await auditFiles(data)).map((name) => join(data, name));
  yield* filesBackwards(paths, options);
}

/** The same for given files, of which the newest is first. */
export async function* filesBackwards(
  paths: readonly string[],
  { before, spent = () => {} }: ReadingOptions,
): AsyncGenerator<AuditRecord> {
  const [inode, offset] = before?.split(".") ?? [];
  let isFound = inode === undefined;
  for (const path of paths) {
    await using file = await open(path).catch(missing);
    if (file === undefined) continue;
    const { ino, size } = await file.stat();
    if (!isFound && String(ino) !== inode) continue;
    const end = isFound ? size : Math.min(size, Number(offset));
    isFound = true;
    for await (const { at, line } of linesBackwards(file, end, spent)) {
      const entry = entryOf(line);
      if (entry !== undefined) yield { place: `${ino}.${at}`, entry };
    }
  }
}

/** The files of the audit in the data folder, the newest first. */
export async function auditFiles(data: string): Promise<string[]> {
  const names = (await readdir(join(data, AUDIT_FOLDER)).catch(missing)) ?? [];
  const full = names.filter((name) => SET_ASIDE.test(name)).toSorted();
  return [AUDIT_FILE, ...full.toReversed().map((name) => `${AUDIT_FOLDER}/${name}`)];
}

async function* linesBackwards(file: FileHandle, end: number, spent: (bytes: number) => void) {
  /** The beginning of the line whose end was read already is still missing. */
  let rest: Buffer[] = [];
  let from = end;
  while (from > 0) {
    const size = Math.min(CHUNK, from);
    from -= size;
    const { buffer, bytesRead } = await file.read(Buffer.alloc(size), 0, size, from);
    spent(bytesRead);
    let chunk = buffer.subarray(0, bytesRead);
    for (let at = chunk.lastIndexOf(NEWLINE); at >= 0; at = chunk.lastIndexOf(NEWLINE)) {
      const line = Buffer.concat([chunk.subarray(at + 1), ...rest]);
      rest = [];
      if (line.length > 0) yield { at: from + at + 1, line: line.toString("utf8") };
      chunk = chunk.subarray(0, at);
    }
    rest.unshift(chunk);
  }
  const first = Buffer.concat(rest);
  if (first.length > 0) yield { at: 0, line: first.toString("utf8") };
}

function missing(error: NodeJS.ErrnoException): undefined {
  if (error.code !== "ENOENT") throw error;
  return undefined;
}

function entryOf(line: string): Readonly<Record<string, unknown>> | undefined {
  if (line.startsWith(SEAL)) return undefined;
  const entry = objectIn(line);
  return Array.isArray(entry) ? undefined : entry;
}
