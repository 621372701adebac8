import { existsSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";

import type { CommitProgram } from "../git/commit-programs.ts";
import type { Workplace } from "../session/workplace.ts";
import { replaceFile } from "../store/replace-file.ts";

/** What is stored beside a work tree, so that it can be put away when its session is gone. */
export interface WorktreeRecord extends Workplace {
  /** False while it is being created. */
  readonly isReady: boolean;
  /** What git would run in it at a commit or a merge, as it was when the session began. */
  readonly programs?: readonly CommitProgram[];
}

const RECORD = "worktree.json";
/** Held while a work tree is created, landed or removed. */
export const LOCK = "lock";

/** Whether a file beside a work tree may have this name: SQLite adds endings to that of the lock. */
export function isOwnFile(name: string): boolean {
  return name.startsWith(LOCK) || name.startsWith(RECORD);
}

/** The folder of everything that belongs to the work tree of a session. */
export function folderOf(data: string, session: string): string {
  return join(data, "worktrees", session);
}

/** Ids of the sessions that have a folder for a work tree. */
export async function sessionsIn(data: string): Promise<string[]> {
  return await readdir(join(data, "worktrees")).catch(() => []);
}

/** Undefined if there is none: its creation has not begun, or was interrupted before the first step. */
export async function readRecord(folder: string): Promise<WorktreeRecord | undefined> {
  const path = join(folder, RECORD);
  if (!existsSync(path)) return undefined;
  return JSON.parse(await readFile(path, "utf8")) as WorktreeRecord;
}

export async function writeRecord(folder: string, record: WorktreeRecord): Promise<void> {
  await replaceFile(join(folder, RECORD), JSON.stringify(record, null, 2));
}
