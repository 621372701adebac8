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

  /** Takes the text, and is empty. */
  take(): string {
    const text = this.#text;
    this.set("");
    return text;
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
    const before = this.before;
    const after = this.#after;
    const last = charactersOf(before.slice(-32)).at(-1) ?? "";
    const next = charactersOf(after.slice(0, 32))[0] ?? "";
    const lineStart = before.lastIndexOf("\n") + 1;
    const lineEnd = after.includes("\n") ? this.#at + after.indexOf("\n") : this.#text.length;
    switch (edit) {
      case "left":
        return this.#go(this.#at - last.length);
      case "right":
        return this.#go(this.#at + next.length);
      case "word-left":
        return this.#go(this.#at - (WORD_BEFORE.exec(before)?.[0].length ?? 0));
      case "word-right":
        return this.#go(this.#at + (WORD_AFTER.exec(after)?.[0].length ?? 0));
      case "home":
        return this.#go(lineStart);
      case "end":
        return this.#go(lineEnd);
      case "up":
      case "down":
        return this.#goLine(edit === "up" ? -1 : 1);
      case "new-line":
        this.insert("\n");
        return true;
      case "delete-left":
        return this.#cut(this.#at - last.length, this.#at);
      case "delete-right":
        return this.#cut(this.#at, this.#at + next.length);
      case "kill-word-left":
        return this.#kill(this.#at - (WORD_BEFORE.exec(before)?.[0].length ?? 0), this.#at);
      case "kill-word-right":
        return this.#kill(this.#at, this.#at + (WORD_AFTER.exec(after)?.[0].length ?? 0));
      case "kill-home":
        return this.#kill(lineStart, this.#at);
      case "kill-end":
        return this.#kill(this.#at, lineEnd === this.#at ? lineEnd + 1 : lineEnd);
      case "yank":
        this.insert(this.#killed);
        return true;
    }
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

  #cut(from: number, to: number): boolean {
    this.#text = this.#text.slice(0, from) + this.#text.slice(to);
    return this.#go(from);
  }

  #kill(from: number, to: number): boolean {
    this.#killed = this.#text.slice(from, to);
    return this.#cut(from, to);
  }
}

type Edit =
  | "left"
  | "right"
  | "word-left"
  | "word-right"
  | "home"
  | "end"
  | "up"
  | "down"
  | "new-line"
  | "delete-left"
  | "delete-right"
  | "kill-word-left"
  | "kill-word-right"
  | "kill-home"
  | "kill-end"
  | "yank";

type Keys = Readonly<Record<string, Edit | undefined>>;

const PLAIN: Keys = {
  left: "left",
  right: "right",
  home: "home",
  end: "end",
  up: "up",
  down: "down",
  backspace: "delete-left",
  delete: "delete-right",
  // Ctrl-J.
  enter: "new-line",
};
/** As in a shell. */
const CTRL: Keys = {
  b: "left",
  f: "right",
  a: "home",
  e: "end",
  p: "up",
  n: "down",
  h: "delete-left",
  w: "kill-word-left",
  u: "kill-home",
  k: "kill-end",
  y: "yank",
  left: "word-left",
  right: "word-right",
  backspace: "kill-word-left",
};
const META: Keys = {
  return: "new-line",
  enter: "new-line",
  b: "word-left",
  f: "word-right",
  left: "word-left",
  right: "word-right",
  d: "kill-word-right",
  backspace: "kill-word-left",
};
