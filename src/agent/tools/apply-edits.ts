import { TrunklineError } from "../../base/errors.ts";

/** Member names that models know from other agents. */
export interface Edit {
  readonly old_string: string;
  readonly new_string: string;
  readonly replace_all?: boolean;
}

/** Applies replacements in order. Throws if one cannot be applied, and says what to do. */
export function applyEdits(text: string, edits: readonly Edit[], name: string): string {
  let changed = text;
  for (const [index, edit] of edits.entries()) {
    const which = edits.length > 1 ? `Edit ${index + 1} of ${edits.length} in` : "The edit of";
    changed = applyEdit(changed, edit, `${which} '${name}'`);
  }
  return changed;
}

function applyEdit(text: string, edit: Edit, what: string): string {
  const fitted = fit(text, edit);
  const { old_string: old, new_string: replacement } = fitted;
  const first = text.indexOf(old);
  if (first < 0) throw unfit(`${what} does not fit: the text is not there.${near(text, old)}`);
  if (edit.replace_all === true) return text.replaceAll(old, () => replacement);
  const second = text.indexOf(old, first + 1);
  if (second >= 0) {
    const lines = `first in lines ${lineAt(text, first)} and ${lineAt(text, second)}`;
    const next = "Give more of the text around it, or set replace_all";
    throw unfit(`${what} does not fit: the text is there more than once, ${lines}. ${next}`);
  }
  return text.slice(0, first) + replacement + text.slice(first + old.length);
}

/** Models write LF, so an edit of a CRLF file is converted. */
function fit(text: string, edit: Edit): Edit {
  if (text.includes(edit.old_string) || !text.includes("\r\n")) return edit;
  const crlf = (part: string): string => part.replaceAll(/\r?\n/g, "\r\n");
  return { ...edit, old_string: crlf(edit.old_string), new_string: crlf(edit.new_string) };
}

/** Points to a line that differs only in whitespace. */
function near(text: string, old: string): string {
  const wanted = old.split("\n").map((line) => line.trim());
  const first = wanted.find((line) => line !== "");
  if (first === undefined) return " Read the file again";
  const index = text.split("\n").findIndex((line) => line.trim() === first);
  if (index < 0) return " Read the file again";
  return ` Line ${index + 1} begins like it; mind blanks and what follows. Read the file again`;
}

function lineAt(text: string, offset: number): number {
  return text.slice(0, offset).split("\n").length;
}

function unfit(says: string): TrunklineError {
  return new TrunklineError("conflict", says);
}
