import { createHash } from "node:crypto";

/** Bytes of an entry before its path (gitformat-index(5)), with SHA-1 ids. */
const FIXED = 62;
const EXTENDED = 0x4000;
const NAME_LENGTH = 0xfff;
const STAGE = 0x3000;
/** Bytes of the header, and of the checksum at the end. */
const [HEADER, CHECKSUM] = [12, 20];

/** Called with where an entry begins, its path and its stage (0 unless it has conflicts). */
type VisitEntry = (at: number, path: Buffer, stage: number) => void;

/**
 * Reads the entries of git's index, in their order. Throws for an index that is not as git writes it, and
 * returns where the entries end. Only SHA-1 ids are read: with longer ones, a length would be elsewhere.
 */
export function readIndexEntries(index: Buffer, visit: VisitEntry): number {
  const version = index.readUInt32BE(4);
  if (index.toString("latin1", 0, 4) !== "DIRC" || version < 2 || version > 4) {
    throw new Error(`Cannot read an index of version ${version}`);
  }
  let at = HEADER;
  let before: Buffer = Buffer.alloc(0);
  for (let left = index.readUInt32BE(8); left > 0; left--) {
    const flags = index.readUInt16BE(at + FIXED - 2);
    const from = at + FIXED + ((flags & EXTENDED) === 0 ? 0 : 2);
    const kept = version === 4 ? keptOf(index, from) : { length: 0, from };
    const end = index.indexOf(0, kept.from);
    if (end < 0 || kept.length > before.length) throw new Error("Cannot read an index that is cut");
    const rest = index.subarray(kept.from, end);
    const path =
      version === 4 ? Buffer.concat([before.subarray(0, before.length - kept.length), rest]) : rest;
    if (Math.min(path.length, NAME_LENGTH) !== (flags & NAME_LENGTH)) {
      throw new Error("Cannot read an index whose entries are not as they should be");
    }
    visit(at, path, (flags & STAGE) >> 12);
    before = path;
    // Entries are padded to a multiple of eight bytes, with at least one NUL.
    at = version === 4 ? end + 1 : at + ((end - at + 8) & ~7);
  }
  if (at > index.length - CHECKSUM) throw new Error("Cannot read an index that is cut");
  return at;
}

/** How many bytes at the end of the path before are not part of this one (version 4). */
function keptOf(index: Buffer, from: number): { length: number; from: number } {
  let at = from;
  let byte = index.readUInt8(at++);
  let length = byte & 0x7f;
  while ((byte & 0x80) !== 0) {
    byte = index.readUInt8(at++);
    length = (length + 1) * 128 + (byte & 0x7f);
    if (length > index.length) throw new Error("Cannot read an index that is cut");
  }
  return { length, from: at };
}

/** An entry of the index. */
export interface IndexEntry {
  /** As bytes, one character each. */
  readonly path: string;
  readonly stage: number;
  readonly mode: number;
  readonly id: string;
  /** Times and size of the file when git read it. */
  readonly stat: Buffer;
  readonly isAssumedValid: boolean;
  readonly isSkipped: boolean;
  readonly isIntended: boolean;
}

export const GITLINK = 0o160_000;
const [SKIPPED, INTENDED] = [0x4000, 0x2000];
const ASSUMED = 0x8000;
/** Modes that git writes into an index that lists files. */
const MODES: ReadonlySet<number> = new Set([0o100_644, 0o100_755, 0o120_000, GITLINK]);

/** The entries of an index, by path and stage. Throws where it is of a kind that is not handled. */
export function parseIndex(index: Buffer | undefined): Map<string, IndexEntry> {
  const entries = new Map<string, IndexEntry>();
  if (index === undefined) return entries;
  let last: Buffer = Buffer.alloc(0);
  let lastStage = -1;
  const end = readIndexEntries(index, (at, path, stage) => {
    const order = Buffer.compare(last, path);
    if (order > 0 || (order === 0 && stage <= lastStage)) throw new Error("it is not in order");
    [last, lastStage] = [path, stage];
    const flags = index.readUInt16BE(at + FIXED - 2);
    const more = (flags & EXTENDED) === 0 ? 0 : index.readUInt16BE(at + FIXED);
    const mode = index.readUInt32BE(at + 24);
    if (!MODES.has(mode)) throw new Error(`it has an entry of mode ${mode.toString(8)}`);
    const entry: IndexEntry = {
      path: path.toString("latin1"),
      stage,
      mode,
      id: index.toString("hex", at + 40, at + 60),
      stat: index.subarray(at, at + 40),
      isAssumedValid: (flags & ASSUMED) !== 0,
      isSkipped: (more & SKIPPED) !== 0,
      isIntended: (more & INTENDED) !== 0,
    };
    entries.set(`${entry.path}\0${stage}`, entry);
  });
  requireOptional(index, end);
  return entries;
}

/** An extension with a lower-case name changes the meaning of entries, as a split index does. */
function requireOptional(index: Buffer, end: number): void {
  for (let at = end; at + 8 <= index.length - CHECKSUM; at += 8 + index.readUInt32BE(at + 4)) {
    const name = index.toString("latin1", at, at + 4);
    if (!/^[A-Z]/.test(name)) throw new Error(`it has the extension '${name}'`);
  }
}

/** An index with these entries and nothing else: no extension that says more than they do. */
export function formatIndex(entries: Iterable<IndexEntry>): Buffer {
  const sorted = [...entries].map((entry) => ({ entry, path: Buffer.from(entry.path, "latin1") }));
  sorted.sort((a, b) => Buffer.compare(a.path, b.path) || a.entry.stage - b.entry.stage);
  const isExtended = sorted.some(({ entry }) => entry.isSkipped || entry.isIntended);
  const header = Buffer.alloc(HEADER);
  header.write("DIRC", "latin1");
  header.writeUInt32BE(isExtended ? 3 : 2, 4);
  header.writeUInt32BE(sorted.length, 8);
  const bytes = Buffer.concat([header, ...sorted.map(({ entry, path }) => format(entry, path))]);
  return Buffer.concat([bytes, createHash("sha1").update(bytes).digest()]);
}

function format(entry: IndexEntry, path: Buffer): Buffer {
  const more = (entry.isSkipped ? SKIPPED : 0) | (entry.isIntended ? INTENDED : 0);
  const from = FIXED + (more === 0 ? 0 : 2);
  const bytes = Buffer.alloc((from + path.length + 8) & ~7);
  entry.stat.copy(bytes);
  bytes.writeUInt32BE(entry.mode, 24);
  bytes.write(entry.id, 40, "hex");
  const flags = (entry.isAssumedValid ? ASSUMED : 0) | (more === 0 ? 0 : EXTENDED);
  bytes.writeUInt16BE(flags | (entry.stage << 12) | Math.min(path.length, NAME_LENGTH), FIXED - 2);
  if (more !== 0) bytes.writeUInt16BE(more, FIXED);
  path.copy(bytes, from);
  return bytes;
}
