import type { Caret } from "./live-screen.ts";
import { charactersOf, columnsOf, type Line, span, splitAt } from "../transcript/styled-line.ts";
import type { Key } from "./terminal-input.ts";

/** Rows of the text that are shown at most. */
const MOST_ROWS = 10;
const WORD_BEFORE = /\S*\s*$/;
const WORD_AFTER = /^\s*\S*/;

/** The text that a person types, of several lines, and the cursor in it. */
export class LineEditor {
  #text = "";
  #at = 0;
  #killed = "";

  get text(): string {
    return this.#text;
  }

  /** The text before the cursor. */
  get before(): string {
    return this.#text.slice(0, this.#at);
  }

  get isEmpty(): boolean {
    return this.#text === "";
  }

  set(text: string): void {
    this.#text = text;
    this.#at = text.length;
  }

  insert(text: string): void {
    this.#text = this.before + text + this.#after;
    this.#at += text.length;
  }

  /** Replaces the end of what is before the cursor. */
  complete(length: number, text: string): void {
    this.#text = this.#text.slice(0, this.#at - length) + text + this.#after;
    this.#at += text.length - length;
  }

  /** Edits by a key. Returns false for a key that is not for editing. */
  press({ name, text, ctrl, meta }: Key): boolean {
    const edit = ctrl ? CTRL[name] : meta ? META[name] : PLAIN[name];
    if (edit !== undefined) return this.#edit(edit);
    if (text === "") return false;
    this.insert(text);
    return true;
  }

  /** The rows to show, and where the cursor is in them. */
  rows(
    width: number,
    mark: Line,
    hint: Line = [],
  ): { readonly rows: Line[]; readonly caret: Caret } {
    const rows: Line[] = [];
    const indent = mark.reduce((sum, { text }) => sum + columnsOf(text), 0);
    const room = Math.max(4, width - indent - 1);
    let caret: Caret = { row: 0, column: indent };
    let from = 0;
    for (const each of this.#text.split("\n")) {
      let rest = each;
      do {
        const [head, tail] = splitAt(rest, room);
        const start = from + each.length - rest.length;
        if (this.#at >= start && this.#at <= start + head.length) {
          const shown = span(this.#text.slice(start, this.#at)).text;
          caret = { row: rows.length, column: indent + columnsOf(shown) };
        }
        rows.push([...(rows.length === 0 ? mark : [span(" ".repeat(indent))]), span(head)]);
        rest = tail;
      } while (rest !== "");
      from += each.length + 1;
    }
    if (this.isEmpty) return { rows: [[...mark, ...hint]], caret };
    // The rows around the cursor.
    const first = Math.max(0, Math.min(caret.row - MOST_ROWS + 2, rows.length - MOST_ROWS));
    const shown = rows.slice(first, first + MOST_ROWS);
    return { rows: shown, caret: { ...caret, row: caret.row - first } };
  }

  get #after(): string {
    return this.#text.slice(this.#at);
  }

  #edit(edit: Edit): boolean {
    if (edit === "up" || edit === "down") return this.#goLine(edit === "up" ? -1 : 1);
    if (edit === "new-line" || edit === "yank") {
      this.insert(edit === "yank" ? this.#killed : "\n");
      return true;
    }
    const [what, motion] = edit;
    const place = this.#placeAfter(motion);
    if (what === "go") return this.#go(place);
    // At the end of a line, the line end is killed.
    const isLineEnd = what === "kill" && motion === "end" && place === this.#at;
    const [from, to] = [Math.min(place, this.#at), Math.max(place, this.#at)];
    return this.#cut(from, isLineEnd ? to + 1 : to, what === "kill");
  }

  #placeAfter(motion: Motion): number {
    const before = this.before;
    const after = this.#after;
    const places: Readonly<Record<Motion, number>> = {
      left: this.#at - (charactersOf(before.slice(-32)).at(-1) ?? "").length,
      right: this.#at + (charactersOf(after.slice(0, 32))[0] ?? "").length,
      "word-left": this.#at - (WORD_BEFORE.exec(before)?.[0].length ?? 0),
      "word-right": this.#at + (WORD_AFTER.exec(after)?.[0].length ?? 0),
      home: before.lastIndexOf("\n") + 1,
      end: after.includes("\n") ? this.#at + after.indexOf("\n") : this.#text.length,
    };
    return places[motion];
  }

  #go(at: number): boolean {
    this.#at = Math.max(0, Math.min(at, this.#text.length));
    return true;
  }

  /** False where there is no such line: the history has more. */
  #goLine(by: -1 | 1): boolean {
    const lines = this.#text.split("\n");
    const above = this.before.split("\n");
    const target = lines[above.length - 1 + by];
    if (target === undefined) return false;
    const column = Math.min(above.at(-1)?.length ?? 0, target.length);
    const before = lines
      .slice(0, above.length - 1 + by)
      .reduce((sum, each) => sum + each.length + 1, 0);
    return this.#go(before + column);
  }

  #cut(from: number, to: number, isKept: boolean): boolean {
    if (isKept) this.#killed = this.#text.slice(from, to);
    this.#text = this.#text.slice(0, from) + this.#text.slice(to);
    return this.#go(from);
  }
}

type Motion = "left" | "right" | "word-left" | "word-right" | "home" | "end";
/** A killed text can be yanked. */
type Edit = "up" | "down" | "new-line" | "yank" | readonly ["go" | "delete" | "kill", Motion];

type Keys = Readonly<Record<string, Edit | undefined>>;

const PLAIN: Keys = {
  left: ["go", "left"],
  right: ["go", "right"],
  home: ["go", "home"],
  end: ["go", "end"],
  up: "up",
  down: "down",
  backspace: ["delete", "left"],
  delete: ["delete", "right"],
  // Ctrl-J.
  enter: "new-line",
};
/** As in a shell. */
const CTRL: Keys = {
  b: ["go", "left"],
  f: ["go", "right"],
  a: ["go", "home"],
  e: ["go", "end"],
  p: "up",
  n: "down",
  h: ["delete", "left"],
  w: ["kill", "word-left"],
  u: ["kill", "home"],
  k: ["kill", "end"],
  y: "yank",
  left: ["go", "word-left"],
  right: ["go", "word-right"],
  backspace: ["kill", "word-left"],
};
const META: Keys = {
  return: "new-line",
  enter: "new-line",
  b: ["go", "word-left"],
  f: ["go", "word-right"],
  left: ["go", "word-left"],
  right: ["go", "word-right"],
  d: ["kill", "word-right"],
  backspace: ["kill", "word-left"],
};
