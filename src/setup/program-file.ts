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

import { fileWords, TrunklineError } from "../base/errors.ts";
import { makeFolder } from "../base/file/path.ts";
import { readRegularFile } from "../base/file/read-regular-file.ts";
import { prepare, replace } from "../base/file/file-change.ts";
import { replaceFile } from "../store/replace-file.ts";

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
  // An empty one says that there was no file.
  const kept = last === undefined ? undefined : textOf(last, path)?.replace(/^\ufeff/, "");
  const backup = kept === "" ? undefined : kept;
  return { path, real, text: all?.slice(mark.length), mark, mode, backup };
}

/** A file that is not there yet. */
export function newProgramFile(path: string): ProgramFile {
  return { path, real: path, text: undefined, mark: "", mode: 0o600, backup: undefined };
}

/** How many are kept of one file: the first, and the last ones. */
const MOST_BACKUPS = 10;

/** The backups of a file, the oldest first. None is ever overwritten. */
export function backupsOf(real: string): string[] {
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
  try {
    return isLink ? realpathSync(path) : path;
  } catch {
    throw refusal(path, "it is a link that leads nowhere. Remove it, or restore what it leads to");
  }
}

function textOf(file: string, path: string): string | undefined {
  try {
    const bytes = readRegularFile(file, { most: MAX_SIZE });
    // A byte that is not UTF-8 would be written back as another.
    const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
    return bytes === undefined ? undefined : decoder.decode(bytes);
  } catch (error) {
    const why = error instanceof TypeError ? "it is not UTF-8" : fileWords(error, file);
    throw new TrunklineError("config", `Cannot read '${path}': ${why}`, { cause: error });
  }
}

export interface Writing {
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
export async function writeProgramFile(file: ProgramFile, writing: Writing): Promise<void> {
  const { path, real, text, mark, mode } = file;
  const { after, isSecret, backup } = writing;
  checkOurs(file);
  try {
    makeFolder(dirname(real), 0o700);
  } catch (error) {
    throw refusal(path, `its folder cannot be made (${fileWords(error)})`);
  }
  if (backup === "take") await takeBackup(file);
  const change = {
    path: real,
    before: text === undefined ? undefined : Buffer.from(mark + text),
    after: after === undefined ? undefined : Buffer.from(mark + after),
    mode: isSecret ? mode & 0o700 : mode,
    isGitConfig: false,
  };
  const id = crypto.randomUUID();
  await prepare(change, id);
  await replace(change, id);
  // The file is again what the last one has.
  const last = backupsOf(real).at(-1);
  if (backup === "drop" && last !== undefined) rmSync(last);
}

/** Keeps the file as it is now, readable for its owner only. */
export async function takeBackup({ real, text, mark }: ProgramFile): Promise<void> {
  const all = backupsOf(real);
  const last = all.at(-1);
  if (text === undefined && last === undefined) return;
  const number = last === undefined ? "" : `-${Number(/-(\d+)$/.exec(last)?.[1] ?? 1) + 1}`;
  await replaceFile(`${real}.trunkline-backup${number}`, text === undefined ? "" : mark + text);
  for (const old of all.slice(1, Math.max(1, all.length - MOST_BACKUPS + 2))) rmSync(old);
}

/** Refuses a file that somebody else manages, although its folder would let us replace it. */
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

export function refusal(path: string, why: string): TrunklineError {
  return new TrunklineError("config", `Cannot change '${path}': ${why}.`);
}
