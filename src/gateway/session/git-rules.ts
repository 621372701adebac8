import { existsSync, lstatSync, mkdirSync, readdirSync, readFileSync, realpathSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";

import { topFolder, worktreeAt } from "../../git/git-folder.ts";

export interface GitRules {
  /** The folders that git keeps its own in. */
  readonly write: readonly string[];
  /** What in them would run programs later, outside of the sandbox. */
  readonly keep: readonly string[];
}

const NONE: GitRules = { write: [], keep: [] };

/**
 * What of a repository's own files commands in a folder may change: enough to commit, and nothing
 * that names a program for git to run.
 */
export function gitRules(folder: string): GitRules {
  try {
    const top = topFolder(folder);
    const found = top === undefined ? undefined : worktreeAt(top);
    if (top === undefined || found === undefined) return NONE;
    const { gitDir, commonDir } = found;
    if (!belongs(top, gitDir, commonDir)) return NONE;
    const folders = [...new Set([commonDir, gitDir, ...modulesIn(commonDir)])];
    // One that is not there could be made.
    mkdirSync(join(commonDir, "hooks"), { recursive: true });
    return { write: [commonDir, gitDir], keep: folders.flatMap(programsIn) };
  } catch {
    return NONE;
  }
}

/**
 * Whether a git folder says itself that it is that of this work tree. A `.git` that was written by
 * a command could name any folder, and would have it opened to the next one.
 */
function belongs(top: string, gitDir: string, commonDir: string): boolean {
  const pointer = join(top, ".git");
  if (lstatSync(pointer).isDirectory())
    return gitDir === realpathSync(pointer) && commonDir === gitDir;
  if (commonDir !== gitDir) {
    const back = readFileSync(join(gitDir, "gitdir"), "utf8").trim();
    return dirname(gitDir) === join(commonDir, "worktrees") && resolve(gitDir, back) === pointer;
  }
  // A submodule's is in that of the repository around it.
  for (let at = dirname(top); at !== dirname(at); at = dirname(at)) {
    if (gitDir.startsWith(join(at, ".git", "modules", "/"))) return true;
  }
  return false;
}

function modulesIn(commonDir: string): string[] {
  const modules = join(commonDir, "modules");
  if (!existsSync(modules)) return [];
  const heads = readdirSync(modules, { recursive: true, encoding: "utf8" });
  return heads
    .filter((path) => basename(path) === "HEAD" && !path.includes("/logs/"))
    .map((path) => join(modules, dirname(path)));
}

function programsIn(folder: string): string[] {
  return ["config", "config.worktree", "hooks"].map((name) => join(folder, name));
}
