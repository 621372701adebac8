import { TrunklineError } from "../../base/errors.ts";
import { MAX_FRAME } from "../../wire/framing/length-prefixed.ts";

/** Bytes of one document: no more than the bus could bring. */
export const MAX_CONTENT = MAX_FRAME;
/** Entries of one list; those who want more ask folder by folder. */
export const MAX_ENTRIES = 100_000;

/** What `write` may expect besides a version. */
export const EXPECT_NOTHING = 0;
export const EXPECT_ANYTHING = -1;

export type Metadata = Readonly<Record<string, unknown>>;

export interface Document {
  readonly content: Uint8Array;
  /** JSON. Left out when it has no members. */
  readonly metadata?: Metadata;
}

export interface StoredDocument extends Document {
  /** Changes whenever the document does; 0 where nobody has counted. */
  readonly version: number;
}

export interface StorageEntry {
  readonly path: string;
  /** Bytes. */
  readonly size: number;
  readonly version: number;
  readonly modifiedAt: Date;
}

/** Documents by their path. What was answered is on disk; whoever writes says on top of what. */
export interface Storage {
  read(path: string): Promise<StoredDocument | undefined>;
  /**
   * Writes if the document is at the version that is expected: `EXPECT_NOTHING` if there is none,
   * `EXPECT_ANYTHING` whatever is there. Resolves to the new version, which is not always the next
   * number. Throws what is there instead, and changes nothing.
   */
  write(path: string, document: Document, expected: number): Promise<number>;
  /** Whether there was anything to delete. */
  delete(path: string): Promise<boolean>;
  /** What is in a folder, at any depth, by path. `pattern` is of the last part of the path. */
  list(folder: string, pattern?: string): Promise<StorageEntry[]>;
}

/** Throws unless a document at version `present` (undefined if there is none) is what is expected. */
export function checkExpected(path: string, expected: number, present: number | undefined): void {
  if (!Number.isSafeInteger(expected) || expected < EXPECT_ANYTHING) {
    const next = "Expect -1 (anything), 0 (nothing) or a version";
    throw new TrunklineError("usage", `Cannot write '${path}' at version ${expected}. ${next}`);
  }
  if (expected === EXPECT_ANYTHING) return;
  // Version 0 is that of a document nobody has counted, which is not nothing.
  if (expected === EXPECT_NOTHING ? present === undefined : present === expected) return;
  const wanted = expected === EXPECT_NOTHING ? "no document (0)" : `version ${expected}`;
  const found = present === undefined ? "there is none" : `it is at version ${present}`;
  const next = "Read it again, and repeat your change on what is there";
  const conflict = `version conflict: expected ${wanted}, but ${found}`;
  throw new TrunklineError("conflict", `Cannot write '${path}': ${conflict}. ${next}`);
}

/** Throws if the content is too long. */
export function checkSize(path: string, verb: "read" | "write", size: number): void {
  if (size <= MAX_CONTENT) return;
  const why = `it has ${size} bytes, the limit is ${MAX_CONTENT}`;
  throw new TrunklineError("limit", `Cannot ${verb} '${path}': ${why}`);
}

export function tooMany(folder: string): TrunklineError {
  const next = "Ask for a folder in it, or with a narrower pattern";
  const message = `Cannot list '${folder}': it holds more than ${MAX_ENTRIES} documents. ${next}`;
  return new TrunklineError("limit", message);
}
