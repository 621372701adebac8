import { accessSync, constants, existsSync, realpathSync } from "node:fs";
import { dirname } from "node:path";

import { TrunklineError } from "../../base/errors.ts";
import { makeFolder } from "../../base/file/path.ts";

/**
 * Refuses a data folder among the files that the system makes up: nothing can be kept there, and
 * Node would try to make the folder for ever, since what is above it is there.
 */
export function checkData(folder: string): void {
  let above = folder;
  while (!existsSync(above)) above = dirname(above);
  if (!/^\/proc(?:\/|$)/.test(realpathSync(above))) return;
  const why = "no folder can be made there. Choose another with --data, TRUNKLINE_DATA or `data`.";
  throw new TrunklineError("config", `Cannot keep state in '${folder}': ${why}`);
}

/**
 * Makes the data folder for what runs long: whoever starts it is there to read why that cannot be,
 * and whoever needs it later is not.
 */
export function openData(folder: string): void {
  try {
    makeFolder(folder, 0o700);
    accessSync(folder, constants.R_OK | constants.W_OK | constants.X_OK);
  } catch (error) {
    const { message } = error as Error;
    const next = "Choose another with --data, TRUNKLINE_DATA or `data`";
    const says = `Cannot keep state in '${folder}': ${message}. ${next}.`;
    throw new TrunklineError("config", says, { cause: error });
  }
}
