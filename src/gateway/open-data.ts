import { accessSync, constants } from "node:fs";

import { TrunklineError } from "../base/errors.ts";
import { makeFolder } from "../base/process/make-folder.ts";

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
