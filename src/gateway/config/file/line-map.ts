/** Turns offsets into a text to lines and columns, both counted from 1. */
export class LineMap {
  readonly #starts: readonly number[];
  readonly #hasMark: boolean;

  constructor(text: string) {
    const starts = [0];
    for (let at = text.indexOf("\n"); at !== -1; at = text.indexOf("\n", at + 1)) {
      starts.push(at + 1);
    }
    this.#starts = starts;
    this.#hasMark = text.startsWith("\ufeff");
  }

  /** `LINE:COLUMN`, as editors and compilers write it. */
  position(offset: number): string {
    let low = 0;
    let high = this.#starts.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if ((this.#starts[middle] ?? 0) <= offset) low = middle;
      else high = middle - 1;
    }
    // Editors do not show a byte order mark, nor count it.
    const mark = low === 0 && this.#hasMark && offset > 0 ? 1 : 0;
    return `${low + 1}:${offset - (this.#starts[low] ?? 0) - mark + 1}`;
  }
}
