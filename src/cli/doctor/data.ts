import { access, constants, rm, stat, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";

import type { Finding } from "./doctor.ts";

const what = "Data folder";

/** Whether state can be kept, and only its owner can read it. */
export async function checkData(folder: string): Promise<Finding[]> {
  let mode: number;
  try {
    const found = await stat(folder);
    if (!found.isDirectory()) return [fail(`${folder} is not a folder`, "Move it away.")];
    ({ mode } = found);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    return [code === "ENOENT" ? await checkParent(folder) : fail(message)];
  }
  const problem = await tryToWrite(folder);
  if (problem !== undefined) {
    return [
      fail(`${folder} cannot be written: ${problem}`, "Choose another with --data, or `data`."),
    ];
  }
  if (process.platform === "win32" || (mode & 0o077) === 0) {
    return [{ state: "ok", what, says: folder }];
  }
  const says = `${folder} can be read by others on this machine`;
  return [{ state: "warn", what, says, next: `Run: chmod 700 '${folder}'` }];
}

async function checkParent(folder: string): Promise<Finding> {
  let parent = dirname(folder);
  for (;;) {
    try {
      await access(parent, constants.W_OK);
      return { state: "ok", what, says: `${folder} will be made when it is needed` };
    } catch (error) {
      const { code, message } = error as NodeJS.ErrnoException;
      if (code !== "ENOENT" || parent === dirname(parent)) {
        return fail(
          `${folder} cannot be made: ${message}`,
          "Choose another with --data, or `data`.",
        );
      }
      parent = dirname(parent);
    }
  }
}

async function tryToWrite(folder: string): Promise<string | undefined> {
  const path = join(folder, `.doctor-${process.pid}`);
  try {
    // On a full disk, files can still be made; only nothing fits in them.
    await writeFile(path, Buffer.alloc(4096), { flag: "wx", mode: 0o600 });
    return undefined;
  } catch (error) {
    return (error as Error).message;
  } finally {
    await rm(path, { force: true });
  }
}

function fail(says: string, next?: string): Finding {
  return { state: "fail", what, says, ...(next === undefined ? {} : { next }) };
}
