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

/** A hook that has git look at fewer files. Nothing is lost without it. */
const ALWAYS = ["core.fsmonitor=false"];
/** The summary of submodules is made by a git that runs in each of them. */
const READING = ["core.hooksPath=/dev/null", "status.submoduleSummary=false"];

/** A variable that is empty: what `--config-env` gives to keys whose names hold a `=`. */
const EMPTY = "TRUNKLINE_EMPTY";

/**
 * Puts a call of git so that a repository has nothing run by it. There is no switch for that in git:
 * what can be turned off by name is; filters can have any name, so all that are configured are
 * looked up and made empty, those of the person too, since a repository's attributes choose among
 * them.
 */
export async function hardenedCall(
  git: Git,
  command: GivenCommand,
  mode: GitMode,
): Promise<HardenedCall> {
  const isReading = mode === "read";
  const env = {
    // Objects that a partial clone lacks would be fetched, by a program that its remote names.
    GIT_NO_LAZY_FETCH: "1",
    ...(isReading ? { GIT_OPTIONAL_LOCKS: "0" } : {}),
  };
  const bare = `safe.bareRepository=${git.isInBareRepository ? "all" : "explicit"}`;
  // Asking for the configuration runs nothing, and what is set here would be in the answer.
  if (command.name === "config") return { args: ["-c", bare, ...command.args], env };
  const filters = command.filters === true ? await filterSettings(git) : undefined;
  if (filters !== undefined) checkWorkTree(git, filters);
  const settings = [bare, ...ALWAYS, ...(isReading ? READING : [])];
  const emptied = isReading ? (filters?.keys ?? []) : [];
  const args = [
    ...settings.flatMap((setting) => ["-c", setting]),
    ...emptied.map((key) => `--config-env=${key}=${EMPTY}`),
    ...command.args,
  ];
  return { args, env: emptied.length > 0 ? { ...env, [EMPTY]: "" } : env };
}

/** A repository may say that its files are somewhere else, such as in a person's home. */
function checkWorkTree(git: Git, { workTree }: FilterSettings): void {
  const top = topFolder(git.folder);
  const found = top === undefined ? undefined : worktreeAt(top);
  // What is set for all does not hold for a linked work tree (setup.c).
  const isLinked = found !== undefined && found.gitDir !== found.commonDir;
  const named = isLinked ? workTree.worktree : (workTree.worktree ?? workTree.local);
  if (named === undefined) return;
  try {
    if (found !== undefined && realpathSync(resolve(found.gitDir, named)) === top) return;
  } catch {
    // It is not there at all.
  }
  const says = `its core.worktree is '${named}', which is not the folder that it is in`;
  throw new TrunklineError("untrusted", `Cannot use the repository in '${git.folder}': ${says}`);
}
