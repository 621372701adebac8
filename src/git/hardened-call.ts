import { realpathSync } from "node:fs";
import { resolve } from "node:path";

import { TrunklineError } from "../base/errors.ts";
import { topFolder, worktreeAt } from "./git-folder.ts";
import { type FilterSettings, filterSettings } from "./config/filter-settings.ts";
import type { Git } from "./git.ts";
import type { GitMode, GivenCommand } from "./git-commands.ts";

/** Arguments and variables of one run of git. */
export interface HardenedCall {
  readonly args: readonly string[];
  readonly env: NodeJS.ProcessEnv;
}

/** The file system monitor is a hook. Git works without it. */
const ALWAYS = ["core.fsmonitor=false"];
/**
 * For the summary, git would run in each submodule, with that submodule's configuration. Names in
 * other scripts are not escaped: neither a person nor a model reads `"\303\274.js"` as `ü.js`.
 */
const READING = [
  "core.hooksPath=/dev/null",
  "status.submoduleSummary=false",
  "core.quotePath=false",
];
/** A submodule has a configuration of its own, in which git would run. */
const FILES = ["core.hooksPath=/dev/null", "submodule.recurse=false"];

/** An empty variable for `--config-env`, which also accepts keys whose names contain `=`. */
const EMPTY = "TRUNKLINE_EMPTY";

/**
 * Adds arguments and variables so that a repository cannot make git run a program. Git has no
 * single option for that. What has a setting is turned off by it. Filters can have any name, so all
 * configured filters are looked up and emptied, the user's own too, since a repository's attributes
 * choose among them.
 */
export async function hardenedCall(
  git: Git,
  command: GivenCommand,
  mode: GitMode,
): Promise<HardenedCall> {
  const isReading = mode === "read";
  const env = {
    // Otherwise git fetches missing objects of a partial clone, with a program that the remote's
    // configuration names.
    GIT_NO_LAZY_FETCH: "1",
    ...(isReading ? { GIT_OPTIONAL_LOCKS: "0" } : {}),
  };
  const bare = `safe.bareRepository=${git.isInBareRepository ? "all" : "explicit"}`;
  // Reading the configuration runs nothing, and settings added here would appear in the output.
  if (command.name === "config") return { args: ["-c", bare, ...command.args], env };
  const isAsked = command.filters === true || mode === "files";
  const filters = isAsked ? await filterSettings(git) : undefined;
  if (filters !== undefined && command.filters === true) checkWorkTree(git, filters);
  const added = { read: READING, files: FILES, write: [] }[mode];
  const settings = [bare, ...ALWAYS, ...added];
  const { keys = [], own = [], hooks = [] } = filters ?? {};
  const off = command.filters === true ? { read: keys, files: own, write: [] }[mode] : [];
  // An empty value is false. A reading git, which takes no locks, runs no hook.
  const emptied = [...off, ...(mode === "files" ? hooks : [])];
  const args = [
    ...settings.flatMap((setting) => ["-c", setting]),
    ...emptied.map((key) => `--config-env=${key}=${EMPTY}`),
    ...command.args,
  ];
  return { args, env: emptied.length > 0 ? { ...env, [EMPTY]: "" } : env };
}

/** A repository could point core.worktree at somebody's home folder. */
function checkWorkTree(git: Git, { workTree }: FilterSettings): void {
  const top = topFolder(git.folder);
  const found = top === undefined ? undefined : worktreeAt(top);
  // Linked work trees ignore the shared core.worktree (git's setup.c).
  const isLinked = found !== undefined && found.gitDir !== found.commonDir;
  const named = isLinked ? workTree.worktree : (workTree.worktree ?? workTree.local);
  if (named === undefined) return;
  try {
    if (found !== undefined && realpathSync(resolve(found.gitDir, named)) === top) return;
  } catch {
    // The folder does not exist.
  }
  const says = `its core.worktree is '${named}', which is not the folder that it is in`;
  throw new TrunklineError("untrusted", `Cannot use the repository in '${git.folder}': ${says}`);
}
