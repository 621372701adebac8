import { mkdirSync } from "node:fs";
import { chmod, mkdir, mkdtemp, readdir, realpath, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";

import { background } from "../base/background.ts";
import { isMarkOfEnded, ownMark } from "../base/process/process-mark.ts";
import type { Mount } from "./file-view.ts";
import { seccompFilter } from "./seccomp.ts";
import { copySettings, NAMES, type SandboxUser, writeNames } from "./system-files.ts";

/** The filter of system calls, and an empty file. */
export const [FILTER, EMPTY] = ["filter.bpf", "empty"] as const;

/**
 * Makes a folder with the files that a sandbox needs: its /etc, /tmp and /var/tmp, and how to start it.
 * `settings` are those that sandboxes of this process share (`makeSettings`).
 */
export async function makeSandboxFolder(
  data: string,
  prefix: string,
  user: SandboxUser,
  settings?: string,
): Promise<string> {
  const filter = seccompFilter();
  const folder = await mkdtemp(join(data, prefix));
  try {
    for (const name of ["tmp", "var-tmp"]) await mkdir(join(folder, name), { mode: 0o700 });
    if (settings === undefined) copySettings(join(folder, "etc"));
    writeNames(join(folder, "etc"), user);
    await writeFile(join(folder, FILTER), filter);
    await writeFile(join(folder, EMPTY), "", { mode: 0o444 });
    // What is mounted from there is named without links.
    return await realpath(folder);
  } catch (error) {
    await removeSandboxFolder(folder);
    throw error;
  }
}

/** Makes such a folder for a sandbox of this process, and removes those of processes that were killed. */
export async function makeOwnFolder(
  data: string,
  kind: "commands" | "plugin",
  user: SandboxUser,
): Promise<string> {
  // At once: whoever removes the folder when the process exits must not have it made again after.
  mkdirSync(data, { recursive: true, mode: 0o700 });
  background(removeAbandoned(data), "Removing folders of sandboxes that were killed");
  return await makeSandboxFolder(data, `${kind}-${ownMark()}-`, user);
}

/** Settings of the system for all sandboxes of this process: to copy them for each takes longest of all. */
export async function makeSettings(data: string) {
  background(removeAbandoned(data), "Removing settings of processes that were killed");
  const path = await realpath(await mkdtemp(join(data, `settings-${ownMark()}-`)));
  await chmod(path, 0o755);
  copySettings(path);
  // Where those of a sandbox are seen.
  for (const name of NAMES) await writeFile(join(path, name), "");
  return { path, [Symbol.asyncDispose]: () => removeSandboxFolder(path) };
}

/** The files and folders of the sandbox that replace those of the machine. */
export function mountsOf(folder: string, settings?: string): Mount[] {
  const own = (name: string, at: string): Mount => {
    return { at, from: join(folder, name), isWritable: !name.startsWith("etc") };
  };
  const all = [own("tmp", "/tmp"), own("var-tmp", "/var/tmp")];
  if (settings === undefined) return [...all, own("etc", "/etc")];
  const names = NAMES.map((name) => own(`etc/${name}`, `/etc/${name}`));
  return [...all, { at: "/etc", from: settings, isWritable: false }, ...names];
}

/** Programs may leave read-only folders in /tmp, such as Go modules. */
export async function removeSandboxFolder(folder: string): Promise<void> {
  try {
    await rm(folder, { recursive: true, force: true });
  } catch {
    for (const { parentPath, name } of await readdir(folder, FOLDERS).catch(() => [])) {
      await chmod(join(parentPath, name), 0o700).catch(() => {});
    }
    await rm(folder, { recursive: true, force: true });
  }
}

const FOLDERS = { recursive: true, withFileTypes: true } as const;

/** Removes the folders of processes that have ended. */
async function removeAbandoned(data: string): Promise<void> {
  for (const name of await readdir(data)) {
    const [, mark = ""] = /^(?:commands|plugin|settings)-(\d+-\w+)-/.exec(name) ?? [];
    if (isMarkOfEnded(mark)) await removeSandboxFolder(join(data, name));
  }
}
