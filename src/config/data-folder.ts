import { accessSync, constants, existsSync, realpathSync } from "node:fs";
import { dirname } from "node:path";

import { fileWords, TrunklineError } from "../base/errors.ts";
import { makeFolder } from "../base/file/path.ts";

/**
 * Refuses a data folder under /proc: nothing can be stored there, and `mkdir` with `recursive` would
 * loop for ever, since the parent exists and the folder cannot be made.
 */
export function checkData(folder: string): void {
  let above = folder;
  while (!existsSync(above)) above = dirname(above);
  if (!/^\/proc(?:\/|$)/.test(realpathSync(above))) return;
  const why = "no folder can be made there. Choose another with --data, TRUNKLINE_DATA or `data`.";
  throw new TrunklineError("config", `Cannot keep state in '${folder}': ${why}`);
}

/**
 * Makes the data folder when a long-running command starts, so that a failure is reported to the
 * person who started it, and not to a client later.
 */
export function openData(folder: string): void {
  try {
    makeFolder(folder, 0o700);
    accessSync(folder, constants.R_OK | constants.W_OK | constants.X_OK);
  } catch (error) {
    const next = "Choose another with --data, TRUNKLINE_DATA or `data`";
    const says = `Cannot keep state in '${folder}': ${fileWords(error, folder)}. ${next}.`;
    throw new TrunklineError("config", says, { cause: error });
  }
}
