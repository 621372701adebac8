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

/** Bytes, as in Orchestra. */
const LONGEST = 4_096;
/** Bytes of one part: file systems allow 255, of which a suffix takes some. */
const LONGEST_PART = 240;

/**
 * The one spelling of a path: relative, parts separated by `/`, none of them `.` or empty. Throws if
 * it could lead out of where it belongs, or could not be the name of a file everywhere.
 */
export function storagePath(path: string): string {
  const problem = problemOf(path);
  if (problem !== undefined) {
    const shown = JSON.stringify(path.slice(0, 100));
    throw new TrunklineError("usage", `Cannot use the path ${shown}: ${problem}`);
  }
  return partsOf(path).join("/");
}

/** Of a folder, which may be the one that everything is in: that is the empty text. */
export function storageFolder(path: string): string {
  return path === "" || path === "." ? "" : storagePath(path);
}

function problemOf(path: string): string | undefined {
  if (path === "") return "it is empty";
  if (Buffer.byteLength(path) > LONGEST) return `it is longer than ${LONGEST} bytes`;
  if (!path.isWellFormed()) return "it is not valid Unicode";
  if (/\p{Cc}/u.test(path)) return "it has control characters";
  if (path.includes("\\")) return "it has a backslash; separate its parts with '/'";
  if (path.startsWith("/")) return "it must be relative";
  const parts = partsOf(path);
  if (parts.length === 0) return "it names no document";
  if (parts.includes("..")) return "'..' could lead out of the storage";
  const isTooLong = parts.some((part) => Buffer.byteLength(part) > LONGEST_PART);
  return isTooLong ? `a part of it is longer than ${LONGEST_PART} bytes` : undefined;
}

function partsOf(path: string): string[] {
  return path.split("/").filter((part) => part !== "" && part !== ".");
}

const LONGEST_PATTERN = 1_000;

/** One character within brackets. */
const MEMBER = String.raw`(?:\\[^]|[^\]\\-])`;
const RANGE = new RegExp(`(${MEMBER})(?:-(${MEMBER}))?`, "gu");
const STEP = new RegExp(String.raw`\[\^?(?:${MEMBER}(?:-${MEMBER})?)+\]|\\[^]|[^[\\]`, "gu");

/**
 * Whether a file name is like a pattern, in which `*` is any text, `?` one character, `[a-z]` one of
 * these, `[^a-z]` one of the others, and `\` takes the meaning from what follows.
 */
export function storagePattern(pattern: string): (name: string) => boolean {
  if (pattern.length > LONGEST_PATTERN) {
    const message = `Cannot use this pattern: it is longer than ${LONGEST_PATTERN} characters`;
    throw new TrunklineError("usage", message);
  }
  const steps = pattern.match(STEP) ?? [];
  if (steps.join("") !== pattern) {
    const next = "Write '\\' before each '[', ']', '-' and '\\' that stands for itself";
    const message = `Cannot use the pattern '${pattern}': it is incomplete. ${next}`;
    throw new TrunklineError("usage", message);
  }
  const [first = "", ...rest] = steps
    .map((step) => (step === "*" ? "*" : sourceOf(step)))
    .join("")
    .split("*");
  const last = rest.pop();
  // Each part between two stars is taken where it is first found, which suffices. In a lookahead, nothing
  // goes back to look for it again: no pattern takes long, whoever wrote it.
  const middle = rest.map((part, index) => `(?=([^]*?${part}))\\${index + 1}`);
  const end = last === undefined ? "" : `[^]*${last}`;
  const expression = new RegExp(`^${first}${middle.join("")}${end}$`, "u");
  return (name) => expression.test(name);
}

/** The regular expression of one character. It has no star. */
function sourceOf(step: string): string {
  if (step === "?") return "[^]";
  if (!step.startsWith("[")) return codeOf(step);
  const isOthers = step.startsWith("[^");
  const ranges = Array.from(
    step.slice(isOthers ? 2 : 1, -1).matchAll(RANGE),
    ([, from = "", to = from]) => {
      const [low, high] = [codeOf(from), codeOf(to)];
      return Number.parseInt(low.slice(3), 16) > Number.parseInt(high.slice(3), 16)
        ? ""
        : `${low}-${high}`;
    },
  );
  return `[${isOthers ? "^" : ""}${ranges.join("")}]`;
}

/** A character, which a backslash may precede, by its number. */
function codeOf(character: string): string {
  const [only = "", escaped = only] = character;
  return `\\u{${escaped.codePointAt(0)?.toString(16)}}`;
}
