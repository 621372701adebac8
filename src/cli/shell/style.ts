import { visible } from "../../base/text/visible.ts";
import { isOn, isSet, type Output } from "./host.ts";

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

/** The codes that begin and end a style (ECMA-48 § 8.3.117, SGR). */
const STYLES = {
  bold: [1, 22],
  dim: [2, 22],
  red: [31, 39],
  green: [32, 39],
  yellow: [33, 39],
  cyan: [36, 39],
} as const;

export type StyleName = keyof typeof STYLES;

/**
 * Marks the start of an escape sequence of ours until the text is written. It is random, so that
 * text of others cannot contain it; escape sequences in such text are shown, not executed.
 */
const MARK = `\0${Math.random().toString(36)}\0`;

/** Text in a style, for `Invocation.out` and `err`. */
export function paint(style: StyleName, text: string, color: boolean): string {
  if (!color) return text;
  const [begin, end] = STYLES[style];
  return `${MARK}${begin}m${text}${MARK}${end}m`;
}

/** Moves to the start of the line and empties it (ECMA-48 § 8.3.9, CHA, and § 8.3.41, EL). */
export const ERASE_LINE = `${MARK}1G${MARK}2K`;

/** Paints each line by itself, so that no style runs over the end of one. */
export function paintLines(style: StyleName, text: string, color: boolean): string {
  if (!color) return text;
  const lines = text.split("\n");
  return lines.map((line) => (line === "" ? "" : paint(style, line, true))).join("\n");
}

/** The text to write: hidden characters escaped, and our own styles as escape sequences. */
export function painted(text: string): string {
  // Most text has no style, and one character is found faster than a mark: a list may be a megabyte.
  if (!text.includes("\0")) return visible(text);
  return text.split(MARK).map(visible).join("\x1b[");
}
