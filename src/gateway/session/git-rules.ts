import { existsSync, lstatSync, mkdirSync, readdirSync, readFileSync, realpathSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";

import { topFolder, worktreeAt } from "../../git/git-folder.ts";

export interface GitRules {
  /** Git's own folders of a repository. */
  readonly write: readonly string[];
  /** Files in them that could make git run programs later, outside of the sandbox. */
  readonly keep: readonly string[];
}

const NONE: GitRules = { write: [], keep: [] };

/**
 * The rules for the git folder of a work tree: commands can commit, but cannot change a file that names a
 * program for git to run.
 */
export function gitRules(folder: string): GitRules {
  try {
    const top = topFolder(folder);
    const found = top === undefined ? undefined : worktreeAt(top);
    if (top === undefined || found === undefined) return NONE;
    const { gitDir, commonDir } = found;
    if (!belongs(top, gitDir, commonDir)) return NONE;
    const folders = [...new Set([commonDir, gitDir, ...modulesIn(commonDir)])];
    // A command could create a missing folder of hooks. An existing one can be mounted read-only.
    mkdirSync(join(commonDir, "hooks"), { recursive: true });
    return { write: [commonDir, gitDir], keep: folders.flatMap(programsIn) };
  } catch {
    return NONE;
  }
}

/**
 * Whether a git folder names this work tree as its own. A `.git` file that a command has written could
 * name any folder, which the next command could then change.
 */
function belongs(top: string, gitDir: string, commonDir: string): boolean {
  const pointer = join(top, ".git");
  if (lstatSync(pointer).isDirectory())
    return gitDir === realpathSync(pointer) && commonDir === gitDir;
  if (commonDir !== gitDir) {
    const back = readFileSync(join(gitDir, "gitdir"), "utf8").trim();
    return dirname(gitDir) === join(commonDir, "worktrees") && resolve(gitDir, back) === pointer;
  }
  // The git folder of a submodule is inside that of the outer repository.
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
