import { mkdir, readdir, rm } from "node:fs/promises";
import { basename, join } from "node:path";

import { openData } from "../data-folder.ts";
import { textOf, userLayer, valuesOf } from "./files.ts";
import { parseFile } from "./parse-file.ts";
import { putFirstInJsonc, setInJsonc } from "./set-in-jsonc.ts";
import { checkedValues, type KeyPath, type ConfigValues } from "../layer.ts";
import { changeFile, readCurrent } from "../../base/file/file-change.ts";
import { replaceFile, withLock } from "../../store/replace-file.ts";

/** A value to set in the configuration file; undefined removes it. */
export interface ConfigFileEdit {
  readonly path: KeyPath;
  readonly value: unknown;
  /** The path is that of a list, and the value comes before all others of it. */
  readonly isFirst?: true;
}

/** Chooses the edits from the values in the file, which is locked meanwhile. */
export type DecideEdits = (now: ConfigValues) => readonly ConfigFileEdit[];

export interface EditOptions {
  readonly env: NodeJS.ProcessEnv;
  /** The data folder, which holds the lock against concurrent changes, and the backups. */
  readonly data: string;
  /** Permissions of a file that does not exist yet; its owner's only when left out. */
  readonly mode?: number;
  /** Throws if a text must not be written; when left out, it has to be right as the user's file. */
  readonly check?: (text: string) => Promise<void>;
}

/**
 * Changes values in a configuration file, and keeps comments, order and layout. The file is written
 * whole or not at all, and only if it can be parsed before and is right afterwards. Returns the whole text
 * before, undefined if there was no file, and after; and where the former is kept, if it was replaced.
 */
export async function editConfigFile(
  file: string,
  edits: readonly ConfigFileEdit[] | DecideEdits,
  { env, data, mode = 0o600, check = (text) => checkUserFile(file, text, env) }: EditOptions,
) {
  openData(data);
  return await withLock(join(data, "config.lock"), async () => {
    const now = await readCurrent(file, mode);
    const before = now.bytes === undefined ? undefined : textOf(file, now.bytes);
    const values = valuesOf(file, parseFile(file, before ?? ""));
    const after = edited(before ?? "", typeof edits === "function" ? edits(values) : edits);
    const bytes = Buffer.from(after, "utf8");
    await check(textOf(file, bytes));
    if (after === (before ?? "")) return { before, after };
    const backup = before === undefined ? undefined : await keepBackup(data, file, before);
    await changeFile({ path: now.path, before: now.bytes, after: bytes, mode: now.mode });
    return { before, after, ...(backup === undefined ? {} : { backup }) };
  });
}

async function checkUserFile(file: string, text: string, env: NodeJS.ProcessEnv): Promise<void> {
  await checkedValues([userLayer(file, parseFile(file, text), env)]);
}

function edited(text: string, edits: readonly ConfigFileEdit[]): string {
  const mark = text.startsWith("\ufeff") ? "\ufeff" : "";
  let body = text.slice(mark.length);
  for (const { path, value, isFirst } of edits) {
    body = (isFirst === true ? putFirstInJsonc : setInJsonc)(body, path, value);
  }
  return mark + body;
}

/** How many earlier texts of one file are kept: the first, and the last ones. */
const MOST = 10;

/**
 * Keeps the text of a configuration file before it is changed, in the data folder: beside the file, a
 * copy would be committed with a project, or found by other programs. Returns its path.
 */
async function keepBackup(data: string, file: string, text: string): Promise<string> {
  const folder = join(data, "config-backups");
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const of = `-${placeOf(file)}-${basename(file).replace(/^\./, "")}`;
  const time = new Date().toISOString().replaceAll(/[:.]/g, "-");
  const path = join(folder, `${time}-${crypto.randomUUID().slice(0, 4)}${of}`);
  await replaceFile(path, text);
  const all = (await readdir(folder)).filter((name) => name.endsWith(of)).toSorted();
  // Keeps the first: the file before Trunkline ever changed it.
  const old = all.slice(1, Math.max(1, all.length - MOST + 1));
  await Promise.all(old.map((name) => rm(join(folder, name), { force: true })));
  return path;
}

/** Tells files of the same name apart. */
function placeOf(file: string): string {
  return process.getBuiltinModule("node:crypto").hash("sha256", file).slice(0, 8);
}
