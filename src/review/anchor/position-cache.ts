import { mkdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

import { readRegularFile } from "../../base/file/read-regular-file.ts";
import { VERSION } from "../../base/version.ts";
import { blobId } from "./file-lines.ts";
import type { Confidence, LinePosition, Method } from "./line-position.ts";

type Stored = readonly [line: number, end: number, confidence: Confidence, method: Method];

/** Positions of the comments of one version of a file, by "line-end". */
type Positions = Record<string, Stored>;

/** More are dropped, those that were not used for the longest time first. */
const MOST_POSITIONS = 50_000;
/** Bytes. */
const LARGEST = 32 * 1024 * 1024;

/**
 * Where comments were found for which other versions of a file had to be read from git, which takes
 * longer than all else. A position depends only on
 * the two texts and on the commits between them, and these are the key: an entry never becomes wrong,
 * only useless. It is a cache: whatever goes wrong with its file costs time and nothing else.
 */
export class PositionCache {
  readonly #file: string;
  readonly #known: Map<string, Positions>;
  readonly #used = new Map<string, Positions>();
  #isChanged = false;

  /** The cache of a work tree, in the data folder. */
  constructor(data: string, root: string) {
    this.#file = join(data, "positions", `${blobId(Buffer.from(root))}.json`);
    this.#known = read(this.#file);
  }

  get(key: string, line: number, end: number): LinePosition | undefined {
    const stored = this.#use(key)[`${line}-${end}`];
    if (!Array.isArray(stored)) return undefined;
    const [there, last, confidence, method] = stored as Stored;
    return there === 0 ? { confidence, method } : { line: there, end: last, confidence, method };
  }

  set(key: string, line: number, end: number, position: LinePosition): void {
    const { line: there = 0, end: last = there, confidence, method } = position;
    this.#use(key)[`${line}-${end}`] = [there, last, confidence, method];
    this.#isChanged = true;
  }

  /** Writes the file if there is anything new. */
  save(): void {
    if (!this.#isChanged) return;
    this.#isChanged = false;
    const entries = [...this.#used, ...this.#known];
    let left = MOST_POSITIONS;
    const kept = entries.filter(([, positions]) => {
      left -= Object.keys(positions).length;
      return left >= 0;
    });
    const text = JSON.stringify({ version: VERSION, positions: Object.fromEntries(kept) });
    try {
      writeCache(this.#file, text);
    } catch {
      // The next time it is compared again.
    }
  }

  #use(key: string): Positions {
    const used = this.#used.get(key);
    if (used !== undefined) return used;
    const known = this.#known.get(key) ?? {};
    this.#known.delete(key);
    this.#used.set(key, known);
    return known;
  }
}

/** Another version may find other positions, so it begins anew. */
function read(file: string): Map<string, Positions> {
  try {
    const text = readRegularFile(file, { most: LARGEST })?.toString("utf8") ?? "{}";
    const { version, positions = {} } = JSON.parse(text) as {
      readonly version?: unknown;
      readonly positions?: Record<string, Positions | null>;
    };
    if (version !== VERSION) return new Map();
    const isUsable = (entry: [string, Positions | null]): entry is [string, Positions] =>
      typeof entry[1] === "object" && entry[1] !== null;
    return new Map(Object.entries(positions).filter(isUsable));
  } catch {
    return new Map();
  }
}

/** Replaces a file of a cache, which only its owner can read, without waiting for the disk. */
export function writeCache(path: string, text: string): void {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  const part = `${path}.${process.pid}`;
  try {
    writeFileSync(part, text, { mode: 0o600 });
    renameSync(part, path);
  } finally {
    rmSync(part, { force: true });
  }
}
