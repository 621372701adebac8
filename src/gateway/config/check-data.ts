import { existsSync, realpathSync } from "node:fs";
import { dirname } from "node:path";

import { TrunklineError } from "../../base/errors.ts";

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
