import { readdir, rm } from "node:fs/promises";
import { join } from "node:path";

/** The name of a folder while this process creates or removes it. */
export function unfinishedName(name: string): string {
  return `${name}.unfinished-${process.pid}`;
}

/** Removes the unfinished folders of processes that have ended. */
export async function removeUnfinished(folder: string): Promise<void> {
  for (const name of await readdir(folder).catch(() => [])) {
    const pid = /\.unfinished-(\d+)$/.exec(name)?.[1];
    if (pid === undefined || isAlive(Number(pid))) continue;
    await rm(join(folder, name), { recursive: true, force: true });
  }
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}
