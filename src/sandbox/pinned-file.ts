import {
  closeSync,
  constants,
  fstatSync,
  mkdirSync,
  openSync,
  readlinkSync,
  renameSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";

import { TrunklineError } from "../base/errors.ts";

/** open(2): a descriptor that only says where something is. It waits for no pipe, and needs no rights. */
const O_PATH = 0x20_0000;

/**
 * Opens a file or folder without following links, neither at the end of its path nor on the way. The path
 * may be one that a program in a sandbox writes to: what it puts there is refused, and not followed.
 * Undefined if there is nothing. Throws "unavailable" if there is anything else.
 */
export function openPinned(path: string): number | undefined {
  let fd: number;
  try {
    fd = openSync(path, O_PATH | constants.O_NOFOLLOW);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === "ENOENT") return undefined;
    throw refusal(path, code === "ENOTDIR" ? "a file is in the place of a folder" : message);
  }
  const problem = problemOf(fd, path);
  if (problem === undefined) return fd;
  closeSync(fd);
  throw refusal(path, problem);
}

/** The kernel says where a descriptor leads, and only a path without links is the same. */
function problemOf(fd: number, path: string): string | undefined {
  const status = fstatSync(fd);
  if (status.isSymbolicLink()) return "it is a link";
  if (!status.isDirectory() && !status.isFile()) return "it is neither a file nor a folder";
  const real = readlinkSync(`/proc/self/fd/${fd}`);
  return real === path ? undefined : `it leads to '${real}'`;
}

/**
 * Makes sure that a path is a folder or a file, as wanted, in a folder of ours that programs in a sandbox
 * write to. What they have put in its place is moved aside. The folder above must be there.
 */
export function makePinned(path: string, isFolder: boolean): void {
  const above = openPinned(dirname(path));
  if (above === undefined) throw refusal(path, "the folder above is not there");
  // Through the descriptor, so that the folder above cannot become a link meanwhile.
  const place = join(`/proc/self/fd/${above}`, basename(path));
  try {
    const found = kindOf(place);
    if (found === (isFolder ? "folder" : "file")) return;
    if (found !== undefined) renameSync(place, `${place}.aside-${crypto.randomUUID()}`);
    if (isFolder) mkdirSync(place, { mode: 0o755 });
    else closeSync(openSync(place, "wx", 0o644));
  } catch (error) {
    // Another command was started at the same time. What it has made is looked at before it is used.
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  } finally {
    closeSync(above);
  }
}

function kindOf(place: string): "folder" | "file" | "other" | undefined {
  let fd: number;
  try {
    fd = openSync(place, O_PATH | constants.O_NOFOLLOW);
  } catch {
    return undefined;
  }
  const status = fstatSync(fd);
  closeSync(fd);
  if (status.isDirectory()) return "folder";
  return status.isFile() ? "file" : "other";
}

function refusal(path: string, why: string): TrunklineError {
  const next = "Look at it, and remove it if you did not make it";
  return new TrunklineError("unavailable", `Cannot use '${path}' in a sandbox: ${why}. ${next}.`);
}
