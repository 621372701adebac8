import {
  accessSync,
  constants,
  existsSync,
  lstatSync,
  readdirSync,
  realpathSync,
  rmSync,
  statSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";

import { isObject } from "../base/check.ts";
import { attempt } from "../base/attempt.ts";
import { fileWords, TrunklineError } from "../base/errors.ts";
import { makeFolder } from "../base/file/path.ts";
import { readRegularFile } from "../base/file/read-regular-file.ts";
import { diffLines } from "../base/text/diff-lines.ts";
import { maskText } from "../base/text/mask.ts";
import { visibleLine } from "../base/text/visible.ts";
import { changeFile } from "../base/file/file-change.ts";
import { replaceFile } from "../store/replace-file.ts";
import type { Invocation, OptionValues } from "../cli/shell/command.ts";
import { type Edit, editAll, type Format, type KeyPath, valueAt } from "./format/format.ts";

/** The options that all targets have in common. */
export type ChangeValues = OptionValues<never, "print" | "dry-run" | "remove">;

/** What to write into the file of a program, or to remove from it. */
export interface ProgramFileChange {
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
  change: ProgramFileChange,
): Promise<boolean> {
  const { values, out, err, data } = invocation;
  const { file, format, edits, isSecret = false } = change;
  if (values.print === true) {
    err(`In ${visibleLine(file.path)}:\n`);
    data(editAll(format, "", edits));
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
export function presentIn({ file, format, edits }: ProgramFileChange): unknown[] {
  return explained(file, () => {
    const all = format.read(file.text ?? "");
    return edits.map(({ path }) => valueAt(all, path));
  });
}

function hasOurs(change: ProgramFileChange): boolean {
  return presentIn(change).some(isObject);
}

function withOurs({ file, format, edits, start = "" }: ProgramFileChange): string {
  return explained(file, () => editAll(format, file.text ?? start, edits));
}

/** The text without our entries; undefined if there was no file before them, and nothing is left. */
function withoutOurs(change: ProgramFileChange): string | undefined {
  const { file, format, edits, start = "" } = change;
  const { text, backup } = file;
  if (text === undefined || !hasOurs(change)) return text;
  const present = presentIn(change);
  return explained(file, () => {
    // As it was before, to the byte, if nothing else has changed since.
    const again = edits
      .map(({ path }, at) => ({ path, entry: present[at] as Edit["entry"] }))
      .filter(({ entry }) => entry !== undefined);
    if (editAll(format, backup ?? start, again) === text) return backup;
    const none = edits.map(({ path }) => ({ path, entry: undefined }));
    const rest = withoutEmpty(format, editAll(format, text, none), change);
    const isNothing = ["", "{}", start].some((each) => isSameText(rest, each));
    return backup === undefined && isNothing ? undefined : rest;
  });
}

/** Without the maps that held nothing but our entries, unless they were there before. */
function withoutEmpty(format: Format, text: string, { edits, file }: ProgramFileChange): string {
  const before = format.read(file.backup ?? "");
  return edits.reduce((body, { path: [container] }) => {
    const at: KeyPath = [container];
    const present = valueAt(format.read(body), at);
    const isEmpty = typeof present === "object" && Object.keys(present ?? {}).length === 0;
    if (!isEmpty || valueAt(before, at) !== undefined) return body;
    const rest = format.set(body, at, undefined);
    // Keep the empty map if a person's comment would go with it.
    return commentsIn(rest) === commentsIn(body) ? rest : body;
  }, text);
}

/** The number of comment marks in a text, including those inside values. */
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
  change: ProgramFileChange,
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

function nothingText({ what, file }: ProgramFileChange): string {
  return `Nothing to change: ${what} in ${visibleLine(file.path)}.\n`;
}

/** Bytes. Claude Code keeps the history of its prompts in the same file. */
const MAX_SIZE = 32 * 1024 * 1024;

/** A configuration file of another program, as it is now. */
export interface ProgramFile {
  /** Where the program looks for it. */
  readonly path: string;
  /** Where it is, with links followed. */
  readonly real: string;
  /** Undefined if there is none yet. */
  readonly text: string | undefined;
  /** The byte order mark before the text, which some editors write. */
  readonly mark: "" | "\ufeff";
  readonly mode: number;
  /** The text before we were set up last; undefined if there was none. */
  readonly backup: string | undefined;
}

/** Reads such a file. Throws if it is there and cannot be read as text. */
export function readProgramFile(path: string): ProgramFile {
  const real = targetOf(path);
  const all = textOf(real, path);
  const mark = all?.startsWith("\ufeff") === true ? "\ufeff" : "";
  const mode = all === undefined ? 0o600 : statSync(real).mode & 0o777;
  const last = backupsOf(real).at(-1);
  // An empty backup stands for a file that did not exist.
  const kept = last === undefined ? undefined : textOf(last, path)?.replace(/^\ufeff/, "");
  const backup = kept === "" ? undefined : kept;
  return { path, real, text: all?.slice(mark.length), mark, mode, backup };
}

/** A file that is not there yet. */
function newProgramFile(path: string): ProgramFile {
  return { path, real: path, text: undefined, mark: "", mode: 0o600, backup: undefined };
}

/** How many are kept of one file: the first, and the last ones. */
const MOST_BACKUPS = 10;

/** The backups of a file, the oldest first. None is ever overwritten. */
function backupsOf(real: string): string[] {
  const name = `${basename(real)}.trunkline-backup`;
  const numberOf = (each: string): number => Number(each.slice(name.length + 1) || 1);
  const folder = dirname(real);
  if (!existsSync(folder)) return [];
  return readdirSync(folder)
    .filter((each) => each.startsWith(name) && /^(?:-[1-9]\d*)?$/.test(each.slice(name.length)))
    .toSorted((one, other) => numberOf(one) - numberOf(other))
    .map((each) => join(folder, each));
}

function targetOf(path: string): string {
  const isLink = lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() === true;
  const target = isLink ? attempt(() => realpathSync(path)) : path;
  if (target !== undefined) return target;
  throw refusal(path, "it is a link that leads nowhere. Remove it, or restore what it leads to");
}

function textOf(file: string, path: string): string | undefined {
  try {
    const bytes = readRegularFile(file, { most: MAX_SIZE });
    // A byte that is not UTF-8 would be lost when the file is written.
    const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
    return bytes === undefined ? undefined : decoder.decode(bytes);
  } catch (error) {
    const why = error instanceof TypeError ? "it is not UTF-8" : fileWords(error, file);
    throw new TrunklineError("config", `Cannot read '${path}': ${why}`, { cause: error });
  }
}

interface PendingWrite {
  /** Undefined removes the file. */
  readonly after: string | undefined;
  /** Whether nobody else may read it from now on. */
  readonly isSecret: boolean;
  /** What becomes of the backup: the present text, none, or the one that is there. */
  readonly backup: "take" | "drop" | "keep";
}

/**
 * Writes a file whole or not at all, and only if nobody else has changed it since it was read. What a
 * link leads to is written, and the link stays.
 */
export async function writeProgramFile(file: ProgramFile, writing: PendingWrite): Promise<void> {
  const { path, real, text, mark, mode } = file;
  const { after, isSecret, backup } = writing;
  checkOurs(file);
  try {
    makeFolder(dirname(real), 0o700);
  } catch (error) {
    throw refusal(path, `its folder cannot be made (${fileWords(error)})`);
  }
  if (backup === "take") await takeBackup(file);
  await changeFile({
    path: real,
    before: text === undefined ? undefined : Buffer.from(mark + text),
    after: after === undefined ? undefined : Buffer.from(mark + after),
    mode: isSecret ? mode & 0o700 : mode,
  });
  // The file is now equal to its last backup.
  const last = backupsOf(real).at(-1);
  if (backup === "drop" && last !== undefined) rmSync(last);
}

/** Saves a copy of the file that only its owner can read. */
export async function takeBackup({ real, text, mark }: ProgramFile): Promise<void> {
  const all = backupsOf(real);
  const last = all.at(-1);
  if (text === undefined && last === undefined) return;
  const number = last === undefined ? "" : `-${Number(/-(\d+)$/.exec(last)?.[1] ?? 1) + 1}`;
  await replaceFile(`${real}.trunkline-backup${number}`, text === undefined ? "" : mark + text);
  for (const old of all.slice(1, Math.max(1, all.length - MOST_BACKUPS + 2))) rmSync(old);
}

/** Throws if another user owns the file, or it is read-only, though its folder would allow to replace it. */
export function checkOurs({ path, real, text, mode }: ProgramFile): void {
  if (text === undefined) return;
  const at = real === path ? "it" : `it is a link to '${real}', which`;
  const next = "Add the entry where that file is made; --print shows it";
  const uid = process.getuid?.();
  if (uid !== undefined && statSync(real).uid !== uid) {
    throw refusal(path, `${at} belongs to another user. ${next}`);
  }
  if ((mode & 0o200) === 0) {
    throw refusal(path, `${at} is read-only. Make it writable (chmod u+w), or: ${next}`);
  }
  try {
    accessSync(dirname(real), constants.W_OK);
  } catch {
    throw refusal(path, `its folder '${dirname(real)}' cannot be written to. ${next}`);
  }
}

function refusal(path: string, why: string): TrunklineError {
  return new TrunklineError("config", `Cannot change '${path}': ${why}.`);
}

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
