import { visibleLine } from "../base/text/visible.ts";
import type { Invocation, OptionValues } from "../cli/shell/command.ts";
import { diffText } from "./diff-text.ts";
import { type Edit, edited } from "./format/edit.ts";
import { type Format, isMap, type KeyPath, valueAt } from "./format/format.ts";
import {
  backupsOf,
  newProgramFile,
  type ProgramFile,
  readProgramFile,
  refusal,
  writeProgramFile,
} from "./program-file.ts";

/** The options that all targets have in common. */
export type ChangeValues = OptionValues<never, "print" | "dry-run" | "remove">;

/** What to write into the file of a program, or to remove from it. */
export interface Change {
  readonly file: ProgramFile;
  readonly format: Format;
  readonly edits: readonly Edit[];
  /** What a new file begins with. */
  readonly start?: string | undefined;
  /** Whether nobody else may read the file from now on. */
  readonly isSecret?: boolean;
  /** How the entries are called in messages. */
  readonly what: string;
  /** Writes them otherwise than by editing the file. */
  readonly write?: (() => Promise<void>) | undefined;
}

/** The file to change. To print an entry it need not be readable. */
export function openFile(path: string, { print }: ChangeValues): ProgramFile {
  return print === true ? newProgramFile(path) : readProgramFile(path);
}

/** Carries out a change, or shows it. Resolves to whether a file was changed. */
export async function carryOut(
  invocation: Invocation<ChangeValues>,
  change: Change,
): Promise<boolean> {
  const { values, out, err, data } = invocation;
  const { file, format, edits, isSecret = false } = change;
  if (values.print === true) {
    err(`In ${visibleLine(file.path)}:\n`);
    data(edited(format, "", edits));
    return false;
  }
  const after = values.remove === true ? withoutOurs(change) : withOurs(change);
  const isChanged = after !== file.text;
  if (values["dry-run"] === true) {
    const diff = isChanged ? diffText(file.path, file.text ?? "", after ?? "") : "";
    if (values.json === true) report(invocation, change, { isChanged: false, diff });
    else out(diff === "" ? nothingText(change) : diff);
    return false;
  }
  if (!isChanged) {
    report(invocation, change, { isChanged });
    return false;
  }
  const isRestored = values.remove === true && (after === undefined || after === file.backup);
  const keepsBackup = values.remove !== true && hasOurs(change);
  const backup = isRestored ? "drop" : keepsBackup ? "keep" : "take";
  if (change.write !== undefined) await change.write();
  else await writeProgramFile(file, { after, isSecret, backup });
  const isTaken = backup === "take" && file.text !== undefined;
  const taken = isTaken ? backupsOf(file.real).at(-1) : undefined;
  report(invocation, change, { isChanged, ...(taken !== undefined && { backup: taken }) });
  return true;
}

/** The entries that a file has now, in the order of the edits. */
export function presentIn({ file, format, edits }: Change): unknown[] {
  return explained(file, () => {
    const all = format.read(file.text ?? "");
    return edits.map(({ path }) => valueAt(all, path));
  });
}

function hasOurs(change: Change): boolean {
  return presentIn(change).some(isMap);
}

function withOurs({ file, format, edits, start = "" }: Change): string {
  return explained(file, () => edited(format, file.text ?? start, edits));
}

/** The text without our entries; undefined if there was no file before them, and nothing is left. */
function withoutOurs(change: Change): string | undefined {
  const { file, format, edits, start = "" } = change;
  const { text, backup } = file;
  if (text === undefined || !hasOurs(change)) return text;
  const present = presentIn(change);
  return explained(file, () => {
    // As it was before, to the byte, if nothing else has changed since.
    const again = edits
      .map(({ path }, at) => ({ path, entry: present[at] as Edit["entry"] }))
      .filter(({ entry }) => entry !== undefined);
    if (edited(format, backup ?? start, again) === text) return backup;
    const none = edits.map(({ path }) => ({ path, entry: undefined }));
    const rest = withoutEmpty(format, edited(format, text, none), change);
    const isNothing = ["", "{}", start].some((each) => isSameText(rest, each));
    return backup === undefined && isNothing ? undefined : rest;
  });
}

/** Without the maps that held nothing but our entries, unless they were there before. */
function withoutEmpty(format: Format, text: string, { edits, file }: Change): string {
  const before = format.read(file.backup ?? "");
  return edits.reduce((body, { path: [container] }) => {
    const at: KeyPath = [container];
    const present = valueAt(format.read(body), at);
    const isEmpty = typeof present === "object" && Object.keys(present ?? {}).length === 0;
    if (!isEmpty || valueAt(before, at) !== undefined) return body;
    const rest = format.set(body, at, undefined);
    // A comment of a person is worth more than a tidy file.
    return commentsIn(rest) === commentsIn(body) ? rest : body;
  }, text);
}

/** How many comments a text has; more, if there are like marks in its values. */
function commentsIn(text: string): number {
  return text.match(/#|\/\/|\/\*/g)?.length ?? 0;
}

function isSameText(one: string, other: string): boolean {
  return one.replaceAll(/\s/g, "") === other.replaceAll(/\s/g, "");
}

function explained<T>(file: ProgramFile, work: () => T): T {
  try {
    return work();
  } catch (error) {
    const { message } = error as Error;
    const next = "Repair it, or add the entry by hand: --print shows it";
    throw refusal(file.path, `${message}. ${next}`);
  }
}

function report(
  { values, out }: Invocation<ChangeValues>,
  change: Change,
  done: { readonly isChanged: boolean; readonly backup?: string; readonly diff?: string },
): void {
  const { path } = change.file;
  if (values.json === true) out(`${JSON.stringify({ file: path, ...done }, null, 2)}\n`);
  else if (!done.isChanged) out(nothingText(change));
  else {
    const verb = values.remove === true ? "Removed" : "Wrote";
    out(`${verb} ${change.what} in ${visibleLine(path)}.\n`);
    if (done.backup !== undefined) out(`The file as it was: ${visibleLine(done.backup)}\n`);
  }
}

function nothingText({ what, file }: Change): string {
  return `Nothing to change: ${what} in ${visibleLine(file.path)}.\n`;
}
