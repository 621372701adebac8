import { visibleLine } from "../../base/text/visible.ts";
import { paint, type StyleName } from "../shell/layout.ts";

/** A piece of a line in some styles. Its text has no characters that a terminal would obey. */
export interface Span {
  readonly text: string;
  readonly styles: readonly StyleName[];
}

/** A line of the screen. */
export type Line = readonly Span[];

/** Text of anybody as a piece of a line. */
export function span(text: string, ...styles: readonly StyleName[]): Span {
  return { text: visibleLine(text.replaceAll("\t", "    ")), styles };
}

export function line(text: string, ...styles: readonly StyleName[]): Line {
  return [span(text, ...styles)];
}

/** Each line of a text. */
export function linesOf(text: string, ...styles: readonly StyleName[]): Line[] {
  return text
    .replaceAll("\r\n", "\n")
    .split("\n")
    .map((each) => line(each, ...styles));
}

/** What is sent to the terminal. */
export function lineText(spans: Line, color: boolean): string {
  return spans
    .map(({ text, styles }) => styles.reduce((said, style) => paint(style, said, color), text))
    .join("");
}

/** Characters of one column each: Latin letters, quotes, arrows and lines. Most text has no others. */
const NARROW =
  /^[\x20-\x7e\xa1-\xac\xae-\u02ff\u2010-\u2027\u2190-\u21ff\u2500-\u25cf\u2713\u2717]*$/;
/** Unicode Standard Annex 11: wide and fullwidth characters, and emoji, take two columns. */
const WIDE =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\u4dbf\u4e00-\ua4cf\ua960-\ua97f\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff01-\uff60\uffe0-\uffe6\u{20000}-\u{3fffd}]|\p{Emoji_Presentation}|\ufe0f/u;
const MARKS_ONLY = /^\p{M}+$/u;
let segmenter: Intl.Segmenter | undefined;

/** What a person takes for one character each. */
export function charactersOf(text: string): string[] {
  if (NARROW.test(text)) return text.split("");
  segmenter ??= new Intl.Segmenter();
  return Array.from(segmenter.segment(text), ({ segment }) => segment);
}

/** Columns that a text takes. */
export function columnsOf(text: string): number {
  if (NARROW.test(text)) return text.length;
  return charactersOf(text).reduce((sum, each) => sum + columnsOfOne(each), 0);
}

function columnsOfOne(character: string): number {
  const shown = span(character).text;
  if (shown !== character) return shown.length;
  if (MARKS_ONLY.test(character)) return 0;
  return WIDE.test(character) ? 2 : 1;
}

export function lineColumns(spans: Line): number {
  return spans.reduce((sum, { text }) => sum + columnsOf(text), 0);
}

/** The line cut to a width, with an ellipsis where it is longer. */
export function cutLine(spans: Line, width: number): Line {
  if (lineColumns(spans) <= width) return spans;
  const cut: Span[] = [];
  let room = Math.max(0, width - 1);
  for (const { text, styles } of spans) {
    const [head] = splitAt(text, room);
    cut.push({ text: head, styles });
    room -= columnsOf(head);
    if (head !== text) return [...cut, { text: "\u2026", styles }];
  }
  return cut;
}

/** As much of the text as fits, and the rest. */
export function splitAt(text: string, width: number): readonly [string, string] {
  if (NARROW.test(text)) return [text.slice(0, width), text.slice(width)];
  let head = "";
  let room = width;
  for (const each of charactersOf(text)) {
    room -= columnsOfOne(each);
    if (room < 0) break;
    head += each;
  }
  return [head, text.slice(head.length)];
}

/** Breaks a line between words, or within one that is longer than the width. `indent` begins all but the first. */
export function wrapLine(spans: Line, width: number, indent: Line = []): Line[] {
  const lines: Span[][] = [];
  const margin = lineColumns(indent);
  const most = Math.max(width, margin + 8);
  let now: Span[] = [];
  let used = 0;
  const add = (text: string, styles: Span["styles"]): void => {
    const last = now.at(-1);
    if (last?.styles === styles) now[now.length - 1] = { text: last.text + text, styles };
    else now.push({ text, styles });
  };
  const breakLine = (): void => {
    lines.push(now);
    now = [...indent];
    used = margin;
  };
  for (const { text, styles } of spans) {
    for (const word of text.split(/(?<= )(?! )/)) {
      const wide = columnsOf(word.trimEnd());
      if (used + wide > most && used > margin) breakLine();
      let rest = word;
      while (columnsOf(rest.trimEnd()) > most - used) {
        const [head, tail] = splitAt(rest, most - used);
        if (head === "") break;
        add(head, styles);
        breakLine();
        rest = tail;
      }
      add(rest, styles);
      used += columnsOf(rest);
    }
  }
  return [...lines, now];
}
