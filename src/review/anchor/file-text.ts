import { hash } from "node:crypto";

/** Git's blob id of this content. */
export function blobId(content: Uint8Array): string {
  return hash("sha1", Buffer.concat([Buffer.from(`blob ${content.length}\0`), content]));
}

/** The lines of a text without line ends. */
export function linesOf(text: string): string[] {
  const lines = text.split("\n");
  if (lines.at(-1) === "") lines.pop();
  if (!text.includes("\r")) return lines;
  return lines.map((line) => (line.endsWith("\r") ? line.slice(0, -1) : line));
}

const decoder = new TextDecoder();

/** Broken characters are replaced, and a byte order mark is left out. */
export function textOf(content: Uint8Array): string {
  return decoder.decode(content);
}

/** Git's test: a NUL in the first 8000 bytes (git's xdiff-interface.c). */
export function isBinary(content: Uint8Array): boolean {
  return content.subarray(0, 8000).includes(0);
}

/** A line without what a formatter changes in it: space and the kind of quotes. */
export function keyOf(line: string): string {
  return line.replace(/\s+/g, "").replace(/['`]/g, '"');
}

/** A version of a file that is compared with others. Its lines are split when they are needed. */
export class FileText {
  readonly #content: Uint8Array;
  #lines: readonly string[] | undefined;
  #keys: readonly string[] | undefined;

  constructor(content: Uint8Array) {
    this.#content = content;
  }

  static of(lines: readonly string[]): FileText {
    return new FileText(Buffer.from(lines.map((line) => `${line}\n`).join("")));
  }

  /** In bytes. */
  get size(): number {
    return this.#content.length;
  }

  get lines(): readonly string[] {
    return (this.#lines ??= linesOf(textOf(this.#content)));
  }

  /** `keyOf` each line. */
  get keys(): readonly string[] {
    return (this.#keys ??= this.lines.map(keyOf));
  }
}
