import { existsSync, readFileSync, realpathSync, statSync } from "node:fs";
import { join, resolve } from "node:path";

import type { Repository } from "./repository.ts";

/** The work tree whose top folder this is, as its files have it; git itself is not asked. */
export function worktreeAt(folder: string): (Repository & { worktree: string }) | undefined {
  const file = join(folder, ".git");
  try {
    const stats = statSync(file, { throwIfNoEntry: false });
    if (stats === undefined) return undefined;
    const link = stats.isDirectory()
      ? []
      : /^gitdir: (.+?)\r?\n*$/s.exec(readFileSync(file, "utf8"));
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
  const pointer = join(gitDir, "commondir");
  const common = existsSync(pointer) ? readFileSync(pointer, "utf8").replace(/\r?\n$/, "") : ".";
  return realpathSync(resolve(gitDir, common));
}
