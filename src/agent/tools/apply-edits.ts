import { TrunklineError } from "../../base/errors.ts";
import { findLines, nearestLines } from "./match-text.ts";

/** Member names that models know from other agents. */
export interface Edit {
  readonly old_string: string;
  readonly new_string: string;
  readonly replace_all?: boolean;
}

/** A text after edits, and what was tolerated to make them. */
export interface EditedText {
  readonly text: string;
  readonly notes: readonly string[];
}

/** Applies replacements in order. Throws if one cannot be applied, and says what to do. */
export function applyEdits(text: string, edits: readonly Edit[], name: string): EditedText {
  let changed = text;
  const notes: string[] = [];
  for (const [index, edit] of edits.entries()) {
    const which = edits.length > 1 ? `Edit ${index + 1} of ${edits.length} in` : "The edit of";
    const done = applyEdit(changed, edit, `${which} '${name}'`);
    changed = done.text;
    notes.push(...done.notes);
  }
  return { text: changed, notes };
}

function applyEdit(text: string, edit: Edit, what: string): EditedText {
  const fitted = withLineEnds(text, edit);
  const { old_string: old, new_string: replacement } = fitted;
  const first = text.indexOf(old);
  if (first < 0) return applyTolerantly(text, edit, what);
  if (edit.replace_all === true) {
    return { text: text.replaceAll(old, () => replacement), notes: [] };
  }
  const second = text.indexOf(old, first + 1);
  if (second >= 0) throw ambiguous(what, [lineAt(text, first), lineAt(text, second)]);
  const after = text.slice(0, first) + replacement + text.slice(first + old.length);
  return { text: after, notes: [] };
}

/** Finds whole lines that differ only in blanks or typography, if there is one such place. */
function applyTolerantly(text: string, edit: Edit, what: string): EditedText {
  const lines = linesOf(text);
  const wanted = linesOf(edit.old_string);
  const endsLine = wanted.length > 1 && wanted.at(-1) === "";
  const given = endsLine ? wanted.slice(0, -1) : wanted;
  const isBlank = given.every((line) => line.trim() === "");
  const found = isBlank || edit.replace_all === true ? [] : findLines(lines, given);
  const [match, other] = found;
  if (match === undefined) throw notThere(what, lines, given, edit.new_string);
  if (other !== undefined) throw ambiguous(what, [match.from + 1, other.from + 1]);
  const start = offsetOf(text, match.from);
  const next = offsetOf(text, match.to);
  const end = endsLine || match.to === lines.length ? next : next - lineEnd(text).length;
  const fresh = match.fit(linesOf(edit.new_string)).join(lineEnd(text));
  const notes = match.differs === undefined ? [] : [match.differs];
  return { text: text.slice(0, start) + fresh + text.slice(end), notes };
}

/** Where a line begins; the end of the text after the last. */
function offsetOf(text: string, line: number): number {
  let offset = 0;
  for (let at = 0; at < line; at++) {
    const end = text.indexOf("\n", offset);
    if (end < 0) return text.length;
    offset = end + 1;
  }
  return offset;
}

export function linesOf(text: string): string[] {
  return text.split("\n").map(withoutReturn);
}

export function lineEnd(text: string): string {
  return text.includes("\r\n") ? "\r\n" : "\n";
}

function withoutReturn(line: string): string {
  return line.endsWith("\r") ? line.slice(0, -1) : line;
}

/** Models write LF, so an edit of a CRLF file is converted. */
function withLineEnds(text: string, edit: Edit): Edit {
  if (text.includes(edit.old_string) || !text.includes("\r\n")) return edit;
  const crlf = (part: string): string => part.replaceAll(/\r?\n/g, "\r\n");
  return { ...edit, old_string: crlf(edit.old_string), new_string: crlf(edit.new_string) };
}

function notThere(
  what: string,
  lines: readonly string[],
  given: readonly string[],
  fresh: string,
): TrunklineError {
  const isDone = fresh.trim() !== "" && findLines(lines, linesOf(fresh.trimEnd())).length === 1;
  const done = isDone ? " The new text is there already: perhaps nothing is left to do." : "";
  return unfit(`${what} does not fit: the text is not there.${done}${nearest(lines, given)}`);
}

/** What is there instead, for the model. */
export function nearest(lines: readonly string[], given: readonly string[]): string {
  const near = nearestLines(lines, given);
  return near === "" ? " Read the file again" : ` The nearest text, with line numbers:\n${near}`;
}

function ambiguous(what: string, lines: readonly number[]): TrunklineError {
  const where = `first in lines ${lines.join(" and ")}`;
  const next = "Give more of the text around it, or set replace_all";
  return unfit(`${what} does not fit: the text is there more than once, ${where}. ${next}`);
}

function lineAt(text: string, offset: number): number {
  return text.slice(0, offset).split("\n").length;
}

export function unfit(says: string): TrunklineError {
  return new TrunklineError("conflict", says);
}
