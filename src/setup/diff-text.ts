import { maskText } from "../base/text/mask.ts";
import { visibleLine } from "../base/text/visible.ts";
import { diffLines } from "../base/text/diff-lines.ts";

const AROUND = 3;

/** The changed lines of a file with those around them. Secrets are masked. */
export function diffText(path: string, before: string, after: string): string {
  const [old, next] = [linesOf(before), linesOf(after)];
  const start = sameAtStart(old, next);
  const end = sameAtStart(old.slice(start).toReversed(), next.slice(start).toReversed());
  const from = Math.max(0, start - AROUND);
  const part = (lines: readonly string[]): string[] =>
    lines.slice(from, lines.length - end + AROUND);
  const shown = diffLines(part(old), part(next)).map((line) => `${maskText(line)}\n`);
  return `${visibleLine(path)}, line ${from + 1}:\n${shown.join("")}`;
}

function linesOf(text: string): string[] {
  return text === "" ? [] : text.replace(/\r?\n$/, "").split(/\r?\n/);
}

function sameAtStart(one: readonly string[], other: readonly string[]): number {
  const end = one.findIndex((line, at) => line !== other[at]);
  return end < 0 ? one.length : end;
}
