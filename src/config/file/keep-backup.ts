import { mkdir, readdir, rm } from "node:fs/promises";
import { basename, join } from "node:path";

import { replaceFile } from "../../store/replace-file.ts";

/** How many earlier texts of one file are kept: the first, and the last ones. */
const MOST = 10;

/**
 * Keeps the text of a configuration file before it is changed, in the data folder: beside the file, a
 * copy would be committed with a project, or found by other programs. Returns its path.
 */
export async function keepBackup(data: string, file: string, text: string): Promise<string> {
  const folder = join(data, "config-backups");
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const of = `-${placeOf(file)}-${basename(file).replace(/^\./, "")}`;
  const time = new Date().toISOString().replaceAll(/[:.]/g, "-");
  const path = join(folder, `${time}-${crypto.randomUUID().slice(0, 4)}${of}`);
  await replaceFile(path, text);
  const all = (await readdir(folder)).filter((name) => name.endsWith(of)).toSorted();
  // The first one stays: it is the file as it was before Trunkline changed it.
  const old = all.slice(1, Math.max(1, all.length - MOST + 1));
  await Promise.all(old.map((name) => rm(join(folder, name), { force: true })));
  return path;
}

/** Tells files of the same name apart. */
function placeOf(file: string): string {
  return process.getBuiltinModule("node:crypto").hash("sha256", file).slice(0, 8);
}
