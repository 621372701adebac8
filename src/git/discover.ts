import { existsSync, realpathSync } from "node:fs";
import { dirname, join, resolve } from "node:path";

import type { Git } from "./git.ts";
import { GitConfig } from "./config/git-config.ts";
import { type Repository, worktreeAt } from "./git-folder.ts";
import { findRepository } from "./repository.ts";

/** A folder's repository, and what git is configured to there. */
export interface Discovered {
  readonly repository: Repository | undefined;
  readonly config: GitConfig;
}

/**
 * For an ordinary repository, or none, one call of git finds both: we look for the repository as git does,
 * and git's list of configuration files confirms it. In all other cases git is asked separately.
 */
export async function discover(git: Git): Promise<Discovered> {
  const likely = git.env.GIT_CEILING_DIRECTORIES === undefined ? lookFor(git.folder) : "unknown";
  if (likely === "unknown") {
    const [repository, config] = await Promise.all([findRepository(git), GitConfig.read(git)]);
    return { repository, config };
  }
  const config = await GitConfig.read(git);
  if (likely === "none") return { repository: undefined, config };
  const repository = isConfirmed(likely, config) ? likely : await findRepository(git);
  return { repository, config };
}

/** The nearest folder with a `.git`, upwards. */
function lookFor(folder: string): Repository | "none" | "unknown" {
  let at: string;
  try {
    at = realpathSync(folder);
  } catch {
    return "unknown";
  }
  for (; ; at = dirname(at)) {
    if (existsSync(join(at, ".git"))) return worktreeAt(at) ?? "unknown";
    // This may be a bare repository: only git can tell.
    if (existsSync(join(at, "HEAD")) && existsSync(join(at, "objects"))) return "unknown";
    if (at === dirname(at)) return "none";
  }
}

function isConfirmed({ worktree = "", commonDir }: Repository, config: GitConfig): boolean {
  if (config.isTrue("core.bare") || config.get("core.worktree") !== undefined) return false;
  // The first local entry never comes from an included file.
  const local = config.entries.find(({ scope }) => scope === "local");
  if (local === undefined || !local.origin.startsWith("file:")) return false;
  const read = resolve(worktree, local.origin.slice("file:".length));
  try {
    return realpathSync(read) === join(commonDir, "config");
  } catch {
    return false;
  }
}
