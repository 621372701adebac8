import { control } from "../shell/layout.ts";
import { cutLine, type Line, lineColumns, lineText } from "../transcript/styled-line.ts";

interface LiveScreenOptions {
  /** Escapes all but our own control sequences (see `painted`). */
  readonly out: (text: string) => void;
  readonly color: boolean;
  readonly size: () => { readonly columns: number; readonly rows: number };
}

/** Where the cursor stands, counted from the first row and column of the tail. */
export interface Caret {
  readonly row: number;
  readonly column: number;
}

/** DEC private mode 2026: the terminal shows what is between them at once. Others ignore it. */
const BEGIN = control("?2026h");
const END = control("?2026l");
/**
 * Empties the screen from this line on, beginning with the second column: tmux copies what is erased from the
 * screen's first cell on to its history.
 */
const ERASE_BELOW = ["1G", "2K", "2G", "J", "1G"].map(control).join("");

/**
 * The lower end of a terminal's scrollback: finished lines are printed once and never touched again;
 * only the tail below them is drawn again.
 */
export class LiveScreen {
  readonly #options: LiveScreenOptions;
  readonly #finished: Line[] = [];
  /** Columns of each row of the tail that is on the screen. */
  #drawn: readonly number[] = [];
  #caret: Caret = { row: 0, column: 0 };
  #last = "";

  constructor(options: LiveScreenOptions) {
    this.#options = options;
  }

  get columns(): number {
    return Math.max(10, this.#options.size().columns - 1);
  }

  get rows(): number {
    return Math.max(4, this.#options.size().rows - 1);
  }

  /** Prints lines above the tail with the next `draw`. */
  print(lines: readonly Line[]): void {
    for (const each of lines) this.#finished.push(each);
  }

  /** Draws the tail. If there is not enough room, only its last lines are shown. */
  draw(tail: readonly Line[], caret: Caret): void {
    const { color, out } = this.#options;
    const from = Math.max(0, tail.length - this.rows);
    const lines = tail.slice(from).map((each) => cutLine(each, this.columns));
    const text = lines.map((each) => lineText(each, color)).join("\n");
    const row = Math.max(0, caret.row - from);
    const place = `${up(lines.length - 1 - row)}${control(`${caret.column + 1}G`)}`;
    if (this.#finished.length === 0 && text + place === this.#last) return;
    this.#last = text + place;
    const printed = this.#finished.splice(0).map((each) => `${lineText(each, color)}\n`);
    out(`${BEGIN}${this.#toTop()}${printed.join("")}${text}${place}${END}`);
    this.#drawn = lines.map(lineColumns);
    this.#caret = { row, column: caret.column };
  }

  /** Removes the tail and prints what is finished; the cursor is below that. */
  clear(): void {
    const printed = this.#finished
      .splice(0)
      .map((each) => `${lineText(each, this.#options.color)}\n`);
    this.#options.out(this.#toTop() + printed.join(""));
    this.forget();
  }

  /** Call this after other programs have written to the screen: the next tail begins where the cursor is. */
  forget(): void {
    this.#drawn = [];
    this.#caret = { row: 0, column: 0 };
    this.#last = "";
  }

  /** Removes the tail. A window that has become narrower has broken its lines. */
  #toTop(): string {
    const columns = Math.max(1, this.#options.size().columns);
    const above = this.#drawn.slice(0, this.#caret.row);
    const rows = above.reduce((sum, wide) => sum + Math.max(1, Math.ceil(wide / columns)), 0);
    return up(rows + Math.floor(this.#caret.column / columns)) + ERASE_BELOW;
  }
}

function up(rows: number): string {
  return rows > 0 ? control(`${rows}A`) : "";
}
