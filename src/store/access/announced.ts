import { readdirSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";

import { attempt } from "../../base/attempt.ts";
import { FileLock } from "../file-lock.ts";
import { replaceFile } from "../replace-file.ts";

/**
 * Registers a process in a folder that others read. A file lock, which the system releases when the process
 * ends, shows whether it still runs.
 */
export async function announce(
  folder: string,
  record: object,
  id: string = crypto.randomUUID(),
): Promise<FileLock> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const lock = await FileLock.take(join(folder, `${id}.lock`));
  await replaceFile(join(folder, `${id}.json`), JSON.stringify(record));
  return lock;
}

/** The processes that are registered in a folder: the paths of their files, without an extension. */
export function announced(folder: string) {
  const names = attempt(() => readdirSync(folder), []).filter((name) => name.endsWith(".json"));
  return names.map((name) => {
    const path = join(folder, name.slice(0, -".json".length));
    return { path, isRunning: FileLock.isTaken(`${path}.lock`) };
  });
}
