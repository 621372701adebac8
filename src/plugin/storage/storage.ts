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

type Step = "star" | ((character: string) => boolean);

const LONGEST_PATTERN = 1_000;

/**
 * Whether a file name is like a pattern, in which `*` is any text, `?` one character, `[a-z]` one of
 * these, `[^a-z]` one of the others, and `\` takes the meaning from what follows. Never goes back
 * further than the last star: no pattern takes long, whoever wrote it.
 */
export function storagePattern(pattern: string): (name: string) => boolean {
  const steps = new PatternReader(pattern).read();
  return (name) => matches(steps, Array.from(name));
}

function matches(steps: readonly Step[], name: readonly string[]): boolean {
  let at = 0;
  let step = 0;
  let star = -1;
  let starAt = 0;
  while (at < name.length) {
    const wanted = steps[step];
    if (wanted === "star") {
      star = step++;
      starAt = at;
    } else if (wanted?.(name[at] as string) === true) {
      step++;
      at++;
    } else if (star >= 0) {
      step = star + 1;
      at = ++starAt;
    } else {
      return false;
    }
  }
  return steps.slice(step).every((rest) => rest === "star");
}

class PatternReader {
  readonly #pattern: string;
  readonly #characters: string[];
  #at = 0;

  constructor(pattern: string) {
    if (pattern.length > LONGEST_PATTERN) {
      const message = `Cannot use this pattern: it is longer than ${LONGEST_PATTERN} characters`;
      throw new TrunklineError("usage", message);
    }
    this.#pattern = pattern;
    this.#characters = Array.from(pattern);
  }

  read(): Step[] {
    const steps: Step[] = [];
    while (this.#at < this.#characters.length) steps.push(this.#step());
    return steps;
  }

  #step(): Step {
    const character = this.#take("");
    if (character === "*") return "star";
    if (character === "?") return () => true;
    if (character === "[") return this.#class();
    const wanted = character === "\\" ? this.#take("a character after '\\'") : character;
    return (other) => other === wanted;
  }

  #class(): Step {
    const isOthers = this.#skip("^");
    const ranges: [first: string, last: string][] = [];
    do {
      const first = this.#member();
      ranges.push([first, this.#skip("-") ? this.#member() : first]);
    } while (!this.#skip("]"));
    return (character) =>
      ranges.some(([first, last]) => isBetween(character, first, last)) !== isOthers;
  }

  #member(): string {
    const character = this.#take("']'");
    if (character === "]" || character === "-") throw this.#malformed(`'${character}' is escaped`);
    return character === "\\" ? this.#take("a character after '\\'") : character;
  }

  #skip(character: string): boolean {
    if (this.#characters[this.#at] !== character) return false;
    this.#at++;
    return true;
  }

  #take(missing: string): string {
    const character = this.#characters[this.#at++];
    if (character === undefined) throw this.#malformed(`there is ${missing}`);
    return character;
  }

  #malformed(unless: string): TrunklineError {
    const message = `Cannot use the pattern '${this.#pattern}' unless ${unless}`;
    return new TrunklineError("usage", message);
  }
}

function isBetween(character: string, first: string, last: string): boolean {
  const code = character.codePointAt(0) ?? 0;
  return code >= (first.codePointAt(0) ?? 0) && code <= (last.codePointAt(0) ?? 0);
}
