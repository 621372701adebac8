import { join, resolve } from "node:path";

import { homeOf } from "../base/process/home-of.ts";
import type { GitConfig } from "./config/git-config.ts";
import type { Repository } from "./repository.ts";

/** The folder that git takes hooks from (git-config(1), `core.hooksPath`). */
export function hooksFolder(
  repository: Repository,
  config: GitConfig,
  env: NodeJS.ProcessEnv,
): string {
  const named = config.get("core.hooksPath");
  if (named === undefined) return join(repository.commonDir, "hooks");
  return hooksIn(repository, named, env);
}

/** A value of `core.hooksPath` as a path. Git runs hooks in the top folder, where it counts from. */
export function hooksIn(
  { worktree, gitDir }: Repository,
  named: string,
  env: NodeJS.ProcessEnv,
): string {
  const path = /^~(?=\/|$)/.test(named) ? join(homeOf(env), named.slice(1)) : named;
  return resolve(worktree ?? gitDir, path);
}
