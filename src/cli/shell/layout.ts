import { inspect } from "node:util";

import { visible, visibleLine } from "../../base/text/visible.ts";
import { isOn, isSet } from "../../base/process/environment.ts";
import type { Output } from "./host.ts";
import type { Invocation } from "./command.ts";

/** The character that begins a command to the terminal, and a key that is more than one character. */
export const ESCAPE = "\x1b";

/** Breaks text into lines of at most `width` columns; a word longer than that stands alone. */
export function wrap(text: string, width: number): string[] {
  const lines: string[] = [];
  let line = "";
  for (const word of text.split(/\s+/).filter((part) => part !== "")) {
    if (line !== "" && line.length + 1 + word.length > width) {
      lines.push(line);
      line = word;
    } else {
      line = line === "" ? word : `${line} ${word}`;
    }
  }
  return line === "" ? lines : [...lines, line];
}

/** Two columns: labels, and their texts beside them, or below a label that is too long. */
export function columns(
  rows: readonly (readonly [string, string])[],
  width: number,
  widest = Math.max(0, ...rows.map(([label]) => label.length)),
): string[] {
  // Labels may fill half of the line; more would leave too little room for the text.
  const left = Math.min(widest, Math.floor(width / 2) - 4) + 4;
  return rows.flatMap(([label, text]) => {
    const [first = "", ...more] = wrap(text, width - left);
    const indented = more.map((line) => " ".repeat(left) + line);
    const head = `  ${label}`;
    if (head.length + 2 <= left) return [(head.padEnd(left) + first).trimEnd(), ...indented];
    return [head, " ".repeat(left) + first, ...indented];
  });
}

/**
 * Rows in columns that are as wide as their longest cell, cut at the edge. The first row has the headings.
 */
export function table(rows: readonly (readonly string[])[], edge = Infinity): string {
  const cells = rows.map((row) => row.map(visibleLine));
  const widths = (cells[0] ?? []).map((_, at) =>
    cells.reduce((widest, row) => Math.max(widest, row[at]?.length ?? 0), 0),
  );
  const padded = (cell: string, at: number): string => cell.padEnd(widths[at] ?? 0);
  return linesText(cells.map((row) => row.map(padded).join("  ").slice(0, edge).trimEnd()));
}

/** The first line that is not blank. */
export function firstLine(text: string): string {
  const lines = text.trimStart();
  const end = lines.indexOf("\n");
  const line = visible((end === -1 ? lines : lines.slice(0, end)).trimEnd());
  return line.includes("\t") ? line.replaceAll("\t", " ") : line;
}

/** How text is shown on an output. */
export interface Style {
  /** Columns to fill at most. */
  readonly width: number;
  readonly color: boolean;
}

const WIDTH = { least: 40, usual: 80, most: 100 };

export function styleOf(output: Output, env: NodeJS.ProcessEnv): Style {
  const width = Math.max(WIDTH.least, Math.min(output.columns || WIDTH.usual, WIDTH.most));
  return { width, color: hasColor(output, env) };
}

/** https://no-color.org and https://force-color.org, the first being the stronger. */
function hasColor(output: Output, { NO_COLOR, FORCE_COLOR, TERM }: NodeJS.ProcessEnv): boolean {
  if (isSet(NO_COLOR)) return false;
  if (isSet(FORCE_COLOR)) return isOn(FORCE_COLOR);
  return output.isTTY === true && TERM !== "dumb";
}

/** A style of Node's `inspect.colors`. */
export type StyleName =
  | ("bold" | "dim" | "italic" | "underline" | "inverse" | "strikethrough")
  | ("red" | "green" | "yellow" | "blue" | "magenta" | "cyan");

/**
 * Marks the start of an escape sequence of ours until the text is written. It is random, so that
 * text of others cannot contain it; escape sequences in such text are shown, not executed.
 */
const MARK = `\0${Math.random().toString(36)}\0`;

/** Text in a style, for `Invocation.out` and `err`. */
export function paint(style: StyleName, text: string, color: boolean): string {
  if (!color) return text;
  const [begin, end] = inspect.colors[style] ?? [];
  return `${MARK}${begin}m${text}${MARK}${end}m`;
}

/** A control sequence of ours for the terminal (ECMA-48 § 5.4), such as `2K`. */
export function control(sequence: string): string {
  return MARK + sequence;
}

/** Paints each line by itself, so that no style runs over the end of one. */
export function paintLines(style: StyleName, text: string, color: boolean): string {
  if (!color) return text;
  const lines = text.split("\n");
  return lines.map((line) => (line === "" ? "" : paint(style, line, true))).join("\n");
}

/** The text to write: hidden characters escaped, and our own styles as escape sequences. */
export function terminalText(text: string): string {
  // Most text has no style, and one character is found faster than a mark: a list may be a megabyte.
  if (!text.includes("\0")) return visible(text);
  return text.split(MARK).map(visible).join(`${ESCAPE}[`);
}

type PrintTarget = Pick<Invocation, "values" | "out" | "err">;

interface PrintOptions {
  /** Lines for the person that are no part of the result. They go to stderr. */
  readonly notes?: readonly string[];
  /** The exit code. */
  readonly code?: number;
}

/** Prints data with --json, and text and notes without. Returns the exit code. */
export function print(
  { values, out, err }: PrintTarget,
  data: unknown,
  text: string,
  { notes = [], code = 0 }: PrintOptions = {},
): number {
  if (values.json === true) out(`${JSON.stringify(data, null, 2)}\n`);
  else {
    if (text !== "") out(text);
    for (const note of notes) err(`${note}\n`);
  }
  return code;
}

/** Prints data with --json, and a table without; `none` is the note if it has only headings. */
export function printList(
  invocation: PrintTarget,
  data: unknown,
  rows: readonly (readonly string[])[],
  none: string,
): number {
  if (rows.length > 1) return print(invocation, data, table(rows));
  return print(invocation, data, "", { notes: [none] });
}

/** Each line with its end. */
export function linesText(lines: readonly string[]): string {
  return lines.map((line) => `${line}\n`).join("");
}

/** Prints data as JSON. Returns the exit code for success. */
export function printJson({ out }: Pick<Invocation, "out">, data: unknown): number {
  out(`${JSON.stringify(data, null, 2)}\n`);
  return 0;
}
