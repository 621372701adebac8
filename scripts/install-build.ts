import { randomUUID } from "node:crypto";
import { mkdir, readdir, rename, rm, stat, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";

const DAY_MS = 24 * 60 * 60 * 1000;

/** One build: chunks, whose names contain the hash of their content, and the file that starts them. */
export interface Build {
  readonly chunks: ReadonlyMap<string, Uint8Array | string>;
  readonly launcher: { readonly name: string; readonly text: string };
}

/**
 * Installs a build, the launcher last: a program that starts meanwhile finds either the complete old
 * build or the complete new one. A running plugin loads the chunks that its module was built with, so
 * replaced chunks are kept, by default for a day.
 */
export async function installBuild(
  folder: string,
  build: Build,
  now = new Date(),
  keepMs = DAY_MS,
): Promise<void> {
  const { chunks, launcher } = build;
  await mkdir(folder, { recursive: true });
  const replaced = await installedBuild(folder, launcher.name);
  for (const [name, content] of chunks) {
    await install(join(folder, name), content, 0o644, now);
    replaced.delete(name);
  }
  await install(join(folder, launcher.name), launcher.text, 0o755, now);
  replaced.delete(launcher.name);
  // A slightly older date than now, which would mark them as part of the new build.
  const before = new Date(now.getTime() - 1);
  for (const name of replaced) {
    await utimes(join(folder, name), before, before).catch(ignoreMissing);
  }
  await removeOlderThan(folder, now.getTime() - keepMs);
}

async function install(
  path: string,
  content: Uint8Array | string,
  mode: number,
  now: Date,
): Promise<void> {
  const temporary = `${path}.${randomUUID()}.tmp`;
  await writeFile(temporary, content, { mode });
  await utimes(temporary, now, now);
  await rename(temporary, path);
}

/** The files of the installed build: they have the launcher's date. */
export async function installedBuild(folder: string, launcher: string): Promise<Set<string>> {
  const names = new Set<string>();
  const date = await dateOf(join(folder, launcher));
  for (const name of await filesIn(folder)) {
    if ((await dateOf(join(folder, name))) === date) names.add(name);
  }
  return names;
}

async function removeOlderThan(folder: string, time: number): Promise<void> {
  for (const name of await filesIn(folder)) {
    const path = join(folder, name);
    if ((await dateOf(path)) < time) await rm(path, { force: true });
  }
}

/** A folder in it is a build of its own. */
async function filesIn(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { withFileTypes: true });
  return entries.filter((entry) => entry.isFile()).map(({ name }) => name);
}

/** Zero for a file that another build has removed. */
async function dateOf(path: string): Promise<number> {
  const found = await stat(path).catch(ignoreMissing);
  return found?.mtimeMs ?? 0;
}

function ignoreMissing(error: NodeJS.ErrnoException): undefined {
  if (error.code !== "ENOENT") throw error;
}
