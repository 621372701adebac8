import { isUtf8 } from "node:buffer";
import { closeSync, constants, fstatSync, openSync, readFileSync, statSync } from "node:fs";

import { TrunklineError } from "../../base/errors.ts";

/** No configuration is this large; a file that is was not meant as one. */
const MAX_SIZE = 1024 * 1024;

/** The text of a configuration file, or nothing when there is no such file. */
export function readText(path: string): string | undefined {
  let file: number;
  try {
    // Mostly there is none, and finding that out by an exception costs milliseconds at every start.
    if (statSync(path, { throwIfNoEntry: false }) === undefined) return undefined;
    // Opening a pipe would wait for someone to write to it.
    file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ENOTDIR") return undefined;
    throw unreadable(path, code === "EACCES" ? "permission denied" : message, error);
  }
  try {
    return readOpened(path, file);
  } finally {
    closeSync(file);
  }
}

function readOpened(path: string, file: number): string {
  const stats = fstatSync(file);
  if (stats.isDirectory()) throw unreadable(path, "it is a folder");
  if (!stats.isFile()) throw unreadable(path, "it is not a regular file");
  if (stats.size > MAX_SIZE) {
    throw unreadable(path, `its ${stats.size} bytes are over the limit of ${MAX_SIZE}`);
  }
  const bytes = readFileSync(file);
  if (!isUtf8(bytes)) throw unreadable(path, "it is not valid UTF-8");
  return bytes.toString("utf8");
}

function unreadable(path: string, why: string, cause?: unknown): TrunklineError {
  return new TrunklineError("config", `Cannot read configuration file '${path}': ${why}`, {
    cause,
  });
}
