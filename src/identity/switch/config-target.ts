import { existsSync, realpathSync } from "node:fs";
import { isAbsolute, join, resolve } from "node:path";

import { homeOf } from "../../base/process/environment.ts";
import { configBoolean, type ConfigEntry, type ConfigScope } from "../../git/config/git-config.ts";
import { hasLinkedWorktrees } from "../../git/repository.ts";
import type { Repository } from "../../git/git-folder.ts";
import type { GitContext } from "../detect/git-context.ts";

/** The file that a switch writes to. */
export interface ConfigTarget {
  readonly scope: Extract<ConfigScope, "global" | "local" | "worktree">;
  readonly path: string;
  /** extensions.worktreeConfig has to be turned on first. */
  readonly mustTurnOn: boolean;
}

/** The file of this work tree if the repository has several, else the repository's file. */
export function repositoryTarget(repository: Repository, context: GitContext): ConfigTarget {
  // Git reads this extension only from the repository's own file.
  const own = context.config.all("extensions.worktreeConfig").filter(({ scope }) => {
    return scope === "local";
  });
  const isOn = own.length > 0 && configBoolean(own.at(-1)?.value) === true;
  if (isOn || hasLinkedWorktrees(repository)) {
    const path = join(repository.gitDir, "config.worktree");
    return { scope: "worktree", path, mustTurnOn: !isOn };
  }
  return { scope: "local", path: join(repository.commonDir, "config"), mustTurnOn: false };
}

/** The file that `git config --global` writes to. */
export function globalTarget(env: NodeJS.ProcessEnv): ConfigTarget {
  const { XDG_CONFIG_HOME, GIT_CONFIG_GLOBAL } = env;
  const home = homeOf(env);
  const own = join(home, ".gitconfig");
  const folder = XDG_CONFIG_HOME === undefined || !isAbsolute(XDG_CONFIG_HOME);
  const xdg = join(folder ? join(home, ".config") : XDG_CONFIG_HOME, "git", "config");
  const usual = !existsSync(own) && existsSync(xdg) ? xdg : own;
  const named = GIT_CONFIG_GLOBAL === undefined || GIT_CONFIG_GLOBAL === "";
  return { scope: "global", path: named ? usual : GIT_CONFIG_GLOBAL, mustTurnOn: false };
}

/** Whether a value is in the file itself, not in an included one. */
export function isFrom(
  { origin, scope }: ConfigEntry,
  target: Pick<ConfigTarget, "path" | "scope">,
  context: GitContext,
): boolean {
  if (scope !== target.scope || !origin.startsWith("file:")) return false;
  const { repository, git } = context;
  // Git reports paths relative to the top of the work tree.
  const base = repository?.worktree ?? repository?.gitDir ?? git.folder;
  const found = resolve(base, origin.slice("file:".length));
  return found === target.path || real(found) === real(target.path);
}

function real(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}
