import { existsSync, realpathSync, statSync } from "node:fs";
import { join, resolve } from "node:path";

import { readRegularFile } from "../base/file/read-regular-file.ts";
import type { Repository } from "./repository.ts";

/** Bytes of a file that only says where another is. */
const LONGEST_POINTER = 64 * 1024;

/** The work tree whose top folder this is, as its files have it; git itself is not asked. */
export function worktreeAt(folder: string): (Repository & { worktree: string }) | undefined {
  const file = join(folder, ".git");
  try {
    const stats = statSync(file, { throwIfNoEntry: false });
    if (stats === undefined) return undefined;
    const link = stats.isDirectory() ? [] : /^gitdir: (.+?)\r?\n*$/s.exec(pointerIn(file) ?? "");
    if (link === null) return undefined;
    const gitDir = realpathSync(resolve(folder, link[1] ?? ".git"));
    if (!existsSync(join(gitDir, "HEAD"))) return undefined;
    return { worktree: folder, gitDir, commonDir: commonDirOf(gitDir), isBare: false };
  } catch {
    return undefined;
  }
}

/** The folder that all work trees share. */
export function commonDirOf(gitDir: string): string {
  const common = pointerIn(join(gitDir, "commondir"))?.replace(/\r?\n$/, "") ?? ".";
  return realpathSync(resolve(gitDir, common));
}

/** A repository may be anybody's, and these files anything. */
function pointerIn(file: string): string | undefined {
  return readRegularFile(file, { most: LONGEST_POINTER })?.toString("utf8");
}
