import { asBuffer, linesOf, textOf } from "./file-lines.ts";

/** A text that is compared with others. Its lines are taken apart only if they are looked at. */
export class FileText {
  readonly content: Buffer;
  #lines: readonly string[] | undefined;

  constructor(content: Uint8Array) {
    this.content = asBuffer(content);
  }

  static of(lines: readonly string[]): FileText {
    return new FileText(Buffer.from(lines.map((line) => `${line}\n`).join("")));
  }

  get lines(): readonly string[] {
    return (this.#lines ??= linesOf(textOf(this.content)));
  }

  /** Some of the lines, without taking all of them apart. `starts` has the offset of each. */
  slice(from: number, to: number, starts: Int32Array): readonly string[] {
    if (this.#lines !== undefined) return this.#lines.slice(from, to);
    return from < to ? linesOf(this.between(from, to, starts)) : [];
  }

  /** The same as one text, with line ends. */
  between(from: number, to: number, starts: Int32Array): string {
    const start = starts[from];
    return start === undefined ? "" : textOf(this.content, start, starts[to]);
  }
}
