import { linesOf, textOf } from "./file-lines.ts";

/** A text that is compared with others. Its lines are taken apart only if they are looked at. */
export class FileText {
  readonly content: Uint8Array;
  #lines: readonly string[] | undefined;

  constructor(content: Uint8Array) {
    this.content = content;
  }

  static of(lines: readonly string[]): FileText {
    return new FileText(Buffer.from(lines.map((line) => `${line}\n`).join("")));
  }

  get lines(): readonly string[] {
    return (this.#lines ??= linesOf(textOf(this.content)));
  }

  /** One of the lines, without taking all of them apart. `starts` has the offset of each. */
  line(at: number, starts: Int32Array): string {
    if (this.#lines !== undefined) return this.#lines[at] ?? "";
    const from = starts[at];
    if (from === undefined) return "";
    const to = (starts[at + 1] ?? this.content.length + 1) - 1;
    return linesOf(textOf(this.content.subarray(from, to)))[0] ?? "";
  }
}
