import { realpathSync } from "node:fs";
import { join, resolve } from "node:path";

import { TrunklineError } from "../base/errors.ts";
import { topFolder } from "./bare-repository.ts";
import { type ConfiguredPrograms, configuredPrograms } from "./configured-programs.ts";
import type { Git } from "./git.ts";
import type { GitMode, GivenCommand } from "./git-commands.ts";
import { worktreeAt } from "./worktree-at.ts";

/** Arguments and variables of one run of git. */
export interface GuardedCall {
  readonly args: readonly string[];
  readonly env: NodeJS.ProcessEnv;
}

/** Nothing needs these, whether git reads or writes. */
const ALWAYS = [
  "core.fsmonitor=false",
  // What a submodule is configured to is not looked at, and no other git is started in it.
  "diff.ignoreSubmodules=dirty",
  "diff.submodule=short",
  "status.submoduleSummary=false",
  "submodule.recurse=false",
];
const READING = ["core.hooksPath=/dev/null", "log.showSignature=false"];

/** A variable that is empty: what `--config-env` gives to keys whose names hold a `=`. */
const EMPTY = "TRUNKLINE_EMPTY";

/**
 * Puts a call of git so that a repository has nothing run by it. There is no switch for that in git:
 * what can be turned off by name is; filters can have any name, so all that are configured are
 * looked up and made empty, those of the person too, since a repository's attributes choose among
 * them.
 */
export async function guardedCall(
  git: Git,
  command: GivenCommand,
  mode: GitMode,
): Promise<GuardedCall> {
  const isReading = mode === "read";
  const env = {
    // Objects that a partial clone lacks would be fetched, by a program that its remote names.
    GIT_NO_LAZY_FETCH: "1",
    ...(isReading ? { GIT_OPTIONAL_LOCKS: "0" } : {}),
  };
  const bare = `safe.bareRepository=${git.isInBareRepository ? "all" : "explicit"}`;
  // Asking for the configuration runs nothing, and what is set here would be in the answer.
  if (command.name === "config") return { args: ["-c", bare, ...command.args], env };
  const programs = command.filters === true ? await configuredPrograms(git) : undefined;
  if (programs !== undefined) checkWorkTree(git, programs);
  const settings = [bare, ...ALWAYS, ...(isReading ? READING : [])];
  const emptied = isReading ? (programs?.keys ?? []) : [];
  const args = [
    "--no-pager",
    ...settings.flatMap((setting) => ["-c", setting]),
    ...emptied.map((key) => `--config-env=${key}=${EMPTY}`),
    ...command.args,
  ];
  return { args, env: emptied.length > 0 ? { ...env, [EMPTY]: "" } : env };
}

/** A repository may say that its files are somewhere else, such as in a person's home. */
function checkWorkTree(git: Git, { workTree }: ConfiguredPrograms): void {
  if (workTree === undefined || git.isToldWhere) return;
  const top = topFolder(git.folder);
  const gitDir = top === undefined ? undefined : worktreeAt(top)?.gitDir;
  try {
    if (gitDir !== undefined && realpathSync(resolve(gitDir, workTree)) === top) return;
  } catch {
    // It is not there at all.
  }
  const says = `'${join(top ?? git.folder, ".git")}' sets core.worktree to '${workTree}', which is not the folder that it is in`;
  throw new TrunklineError("untrusted", `Cannot use the repository in '${git.folder}': ${says}`);
}
