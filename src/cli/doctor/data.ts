import { access, constants, rm, stat, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";

import type { Finding } from "./doctor.ts";

const what = "Data folder";
const ELSEWHERE = "Choose another folder with --data or TRUNKLINE_DATA.";

/** Whether the data folder can be written, and only by its owner. */
export async function checkData(folder: string): Promise<Finding[]> {
  let mode: number;
  try {
    const found = await stat(folder);
    if (!found.isDirectory())
      return [
        fail(
          `${folder} is not a folder`,
          "Move the file away, or choose another folder with --data.",
        ),
      ];
    ({ mode } = found);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    return [code === "ENOENT" ? await checkParent(folder) : fail(message)];
  }
  const problem = await tryToWrite(folder);
  if (problem !== undefined) {
    return [fail(`cannot write to ${folder}: ${problem}`, ELSEWHERE)];
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
      return { state: "ok", what, says: `${folder} will be created when it is needed` };
    } catch (error) {
      const { code, message } = error as NodeJS.ErrnoException;
      if (code !== "ENOENT" || parent === dirname(parent)) {
        return fail(`cannot create ${folder}: ${message}`, ELSEWHERE);
      }
      parent = dirname(parent);
    }
  }
}

async function tryToWrite(folder: string): Promise<string | undefined> {
  const path = join(folder, `.doctor-${process.pid}`);
  try {
    // Not an empty file: that can be created on a full disk, too.
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
