import { accessSync, constants, existsSync, rmSync, statSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";

import { attempt } from "../base/attempt.ts";
import { fileWords, isDiskFull } from "../base/errors.ts";

// SQLite's primary result codes: the low byte of an error code (sqlite.org/rescode.html).
const BUSY = 5;
const LOCKED = 6;
const CORRUPT = 11;
const NOT_A_DATABASE = 26;

/**
 * Codes that do not tell why: permission, read-only, I/O error, cannot open. A full disk is one of the
 * reasons: SQLite reports it as an I/O error where the file of its shared memory cannot grow.
 */
const VAGUE: ReadonlySet<unknown> = new Set([3, 8, 10, 14]);

/** Bytes by which SQLite enlarges the file of its shared memory: the least that it needs to open a file. */
const LEAST = 32 * 1024;

/** Bytes. SQLite takes 512, with the ending of a file that it makes beside. */
export const LONGEST_DATABASE_PATH = 500;

/** Whether somebody else has the lock. */
export function isBusy(error: unknown): boolean {
  const code = primaryCode(error);
  return code === BUSY || code === LOCKED;
}

/**
 * Why SQLite could not use a file, in words that a person can act on. Where SQLite does not say, the
 * system is asked, and its answer becomes the cause of the error, so that callers can tell a full disk.
 */
export function sqliteWords(path: string, error: unknown): string {
  const code = primaryCode(error);
  const { message } = error as Error;
  if (code === CORRUPT || code === NOT_A_DATABASE) {
    return `${message}. \`trunkline doctor\` says what can be done.`;
  }
  const length = Buffer.byteLength(path);
  if (VAGUE.has(code) && length > LONGEST_DATABASE_PATH) {
    const why = `its path has ${length} bytes, and SQLite takes ${LONGEST_DATABASE_PATH}`;
    return `${why}. Choose a data folder with a shorter path, with --data or TRUNKLINE_DATA.`;
  }
  if (VAGUE.has(code)) {
    const cause = systemError(path);
    if (cause !== undefined) {
      (error as Error).cause ??= cause;
      if (cause.code !== "ENOSPC") return fileWords(cause, path);
    }
  }
  if (code === undefined) return fileWords(error, path);
  if (!isDiskFull(error)) return message;
  return "database or disk is full. Free some space on its disk, and try again.";
}

function primaryCode(error: unknown): number | undefined {
  const { errcode } = error as { errcode?: unknown };
  return typeof errcode === "number" ? errcode & 0xff : undefined;
}

/** The system's error for writing a file, or the files that SQLite keeps beside it; undefined if none. */
function systemError(path: string): NodeJS.ErrnoException | undefined {
  const probe = `${path}.${crypto.randomUUID()}`;
  try {
    if (statSync(path, { throwIfNoEntry: false })?.isDirectory())
      return new Error("it is a folder");
    accessSync(dirname(path), constants.W_OK | constants.X_OK);
    for (const file of [path, `${path}-wal`, `${path}-shm`]) {
      if (existsSync(file)) accessSync(file, constants.R_OK | constants.W_OK);
    }
    // Only a write reveals a quota or a full disk.
    writeFileSync(probe, Buffer.alloc(LEAST), { flag: "wx", mode: 0o600 });
    return undefined;
  } catch (error) {
    const cause = error as NodeJS.ErrnoException;
    cause.message = cause.message.replace(probe, dirname(path));
    return cause;
  } finally {
    // A disk that failed before fails again.
    attempt(() => rmSync(probe, { force: true }));
  }
}
