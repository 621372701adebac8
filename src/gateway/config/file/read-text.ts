import { isUtf8 } from "node:buffer";

import { TrunklineError } from "../../../base/errors.ts";
import { readRegularFile } from "../../../base/file/read-regular-file.ts";

/** No configuration is this large; a file that is was not meant as one. */
const MAX_SIZE = 1024 * 1024;

/** The text of a configuration file, or nothing when there is no such file. */
export function readText(path: string): string | undefined {
  let bytes: Buffer | undefined;
  try {
    bytes = readRegularFile(path, { most: MAX_SIZE });
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    throw unreadable(path, code === "EACCES" ? "permission denied" : message, error);
  }
  if (bytes === undefined) return undefined;
  if (!isUtf8(bytes)) throw unreadable(path, "it is not valid UTF-8");
  return bytes.toString("utf8");
}

function unreadable(path: string, why: string, cause?: unknown): TrunklineError {
  return new TrunklineError("config", `Cannot read configuration file '${path}': ${why}`, {
    cause,
  });
}
