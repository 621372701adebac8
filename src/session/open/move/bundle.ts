import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { mkdir, open, rm, stat } from "node:fs/promises";
import { join } from "node:path";

import { objectIn } from "../../../base/check.ts";
import { TrunklineError } from "../../../base/errors.ts";

/** The first member of the first line. */
const FORMAT = "trunkline-session";
const VERSION = 1;
/** Bytes of the first line, which describes everything. */
const LARGEST_HEAD = 16 * 1024 * 1024;
/** Bytes of all files. */
export const LARGEST_BUNDLE = 2 * 1024 * 1024 * 1024;
const MOST_FILES = 100_000;
/**
 * The names that files of a bundle may have. They never become paths: an arriving file is stored under its
 * number.
 */
const NAMES =
  /^(?:events|work\.pack|agent\/[A-Za-z0-9][A-Za-z0-9._-]{0,200}|undo\/(?:undone\/)?\d{1,12}\/(?:turn\.jsonl|\d{1,9}\.before))$/;

type Head = Readonly<Record<string, unknown>>;

interface BundledFile {
  readonly name: string;
  readonly size: number;
  readonly sha256: string;
}

/** A file that goes into a bundle. */
export interface Source {
  readonly name: string;
  readonly path: string;
}

/** A bundle that was read: what its first line says, and where its files are now. */
export interface OpenedBundle {
  readonly head: Head;
  readonly files: ReadonlyMap<string, string>;
  /** SHA-256 of the whole. */
  readonly digest: string;
}

/**
 * Writes a bundle: one line of JSON, which has the SHA-256 of each file, and then the files one after
 * another. Returns the SHA-256 of the whole.
 */
export async function writeBundle(
  path: string,
  head: Head,
  sources: readonly Source[],
): Promise<string> {
  const files: BundledFile[] = [];
  for (const { name, path: from } of sources) {
    const { size } = await stat(from);
    files.push({ name, size, sha256: await digestOf(from) });
  }
  const line = `${JSON.stringify({ format: FORMAT, version: VERSION, ...head, files })}\n`;
  const all = createHash("sha256").update(line);
  await rm(path, { force: true });
  await using file = await open(path, "wx", 0o600);
  await file.writeFile(line);
  for (const { path: from } of sources) {
    for await (const chunk of createReadStream(from)) {
      all.update(chunk as Buffer);
      await file.writeFile(chunk as Buffer);
    }
  }
  await file.sync();
  return all.digest("hex");
}

async function digestOf(path: string): Promise<string> {
  const hash = createHash("sha256");
  for await (const chunk of createReadStream(path)) hash.update(chunk as Buffer);
  return hash.digest("hex");
}

/**
 * Reads a bundle from somebody who may be hostile into a new folder. Throws "untrusted" for one that is not
 * exactly as `writeBundle` writes it.
 */
export async function readBundle(
  input: AsyncIterable<Buffer>,
  folder: string,
): Promise<OpenedBundle> {
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const bytes = new ByteReader(input);
  const line = await bytes.line();
  const head = objectIn(line) as Head | undefined;
  if (head?.format !== FORMAT) throw refusal("it is not a bundle of a session");
  if (head.version !== VERSION) {
    throw refusal(`it has version ${String(head.version)}, and this Trunkline reads ${VERSION}`);
  }
  const files = new Map<string, string>();
  for (const [number, { name, size, sha256 }] of filesIn(head).entries()) {
    const path = join(folder, String(number));
    if (files.has(name)) throw refusal(`it has the file '${name}' twice`);
    files.set(name, path);
    const hash = createHash("sha256");
    await using file = await open(path, "wx", 0o600);
    for await (const chunk of bytes.take(size)) {
      hash.update(chunk);
      await file.writeFile(chunk);
    }
    if (hash.digest("hex") !== sha256) throw refusal(`the file '${name}' has another digest`);
    await file.sync();
  }
  await bytes.end();
  return { head, files, digest: bytes.digest() };
}

function filesIn({ files }: Head): readonly BundledFile[] {
  if (!Array.isArray(files) || files.length > MOST_FILES) throw refusal("it lists no files");
  let total = 0;
  return files.map((each: unknown) => {
    const { name, size, sha256 } = (each ?? {}) as Partial<BundledFile>;
    if (typeof name !== "string" || !NAMES.test(name)) {
      throw refusal(`it has a file with the name '${String(name).slice(0, 100)}'`);
    }
    if (!Number.isSafeInteger(size) || size === undefined || size < 0) {
      throw refusal(`the file '${name}' has no size`);
    }
    total += size;
    if (total > LARGEST_BUNDLE) throw refusal(`it has more than ${LARGEST_BUNDLE} bytes`);
    return { name, size, sha256: String(sha256) };
  });
}

/** Reads an input in parts, and hashes all of it. */
class ByteReader {
  readonly #input: AsyncIterator<Buffer>;
  readonly #hash = createHash("sha256");
  #rest: Buffer = Buffer.alloc(0);

  constructor(input: AsyncIterable<Buffer>) {
    this.#input = input[Symbol.asyncIterator]();
  }

  async line(): Promise<string> {
    for (let read = this.#rest; ;) {
      const end = read.indexOf("\n");
      if (end >= 0) {
        this.#rest = read.subarray(end + 1);
        return read.toString("utf8", 0, end);
      }
      if (read.length > LARGEST_HEAD) throw refusal("its first line does not end");
      const next = await this.#next();
      if (next === undefined) throw refusal("it is not a bundle of a session");
      read = Buffer.concat([read, next]);
    }
  }

  async *take(size: number): AsyncGenerator<Buffer> {
    for (let left = size; left > 0;) {
      if (this.#rest.length === 0) {
        const next = await this.#next();
        if (next === undefined) throw refusal("it ends too early");
        this.#rest = next;
      }
      const part = this.#rest.subarray(0, left);
      this.#rest = this.#rest.subarray(part.length);
      left -= part.length;
      yield part;
    }
  }

  async end(): Promise<void> {
    const isMore = this.#rest.length > 0 || ((await this.#next())?.length ?? 0) > 0;
    if (isMore) throw refusal("it has more bytes than it says");
  }

  digest(): string {
    return this.#hash.digest("hex");
  }

  async #next(): Promise<Buffer | undefined> {
    const { done, value } = await this.#input.next();
    if (done === true) return undefined;
    this.#hash.update(value);
    return value;
  }
}

/** Why a bundle is not taken. */
export function refusal(why: string, cause?: unknown): TrunklineError {
  return new TrunklineError("untrusted", `Cannot take this session: ${why}.`, { cause });
}
