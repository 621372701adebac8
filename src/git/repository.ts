import { existsSync, readdirSync } from "node:fs";
import { join, resolve } from "node:path";

import { attempt } from "../base/attempt.ts";
import { homeOf } from "../base/process/environment.ts";
import { GitConfig, parseConfigList } from "./config/git-config.ts";
import { type Repository, topFolder } from "./git-folder.ts";
import { foreignWorkTree, type Git, gitFailure } from "./git.ts";

const QUESTIONS = ["--git-dir", "--git-common-dir", "--show-toplevel"];

/**
 * The repository that contains the folder, at any depth; undefined where there is none. Throws
 * "untrusted" if it says that its work tree is another folder.
 */
export async function findRepository(git: Git): Promise<Repository | undefined> {
  const args = ["rev-parse", "--path-format=absolute", ...QUESTIONS];
  const { code, stdout, stderr } = await git.run(args, { accepts: [0, 128] });
  const lines = stdout.toString("utf8").split("\n").slice(0, -1);
  const [gitDir, commonDir, worktree] = lines;
  if (gitDir === undefined || commonDir === undefined) {
    if (/not a git repository/.test(stderr)) return undefined;
    throw gitFailure(args, { code, stdout, stderr }, git.folder);
  }
  // A path that contains a line end gives more lines than questions.
  const isOdd = lines.length > QUESTIONS.length;
  const found = isOdd ? await askOneByOne(git) : { gitDir, commonDir, worktree };
  const named = found.worktree;
  if (named !== undefined && named !== topFolder(git.folder)) throw foreignWorkTree(git, named);
  return found;
}

/** Throws "not-found" where there is no repository. */
export async function openRepository(git: Git): Promise<Repository> {
  const found = await findRepository(git);
  if (found !== undefined) return found;
  const stderr = "fatal: not a git repository";
  throw gitFailure(["rev-parse"], { code: 128, stdout: Buffer.alloc(0), stderr }, git.folder);
}

async function askOneByOne(git: Git): Promise<Repository> {
  const ask = async (question: string): Promise<string> => {
    return await git.text(["rev-parse", "--path-format=absolute", question], { accepts: [0, 128] });
  };
  const [gitDir, commonDir, worktree] = await Promise.all([
    ask("--git-dir"),
    ask("--git-common-dir"),
    ask("--show-toplevel"),
  ]);
  return { gitDir, commonDir, worktree: worktree === "" ? undefined : worktree };
}

/** Whether there are work trees besides the main one. */
export function hasLinkedWorktrees({ commonDir }: Repository): boolean {
  return attempt(() => readdirSync(join(commonDir, "worktrees")).length > 0, false);
}

export interface Submodule {
  readonly path: string;
  readonly isCheckedOut: boolean;
}

/** The submodules that `.gitmodules` of a work tree names. */
export async function listSubmodules(git: Git, worktree: string): Promise<Submodule[]> {
  const file = join(worktree, ".gitmodules");
  if (!existsSync(file)) return [];
  const { stdout } = await git.run(["config", "--file", file, "-z", "--list"]);
  const paths = new Map<string, string>();
  for (const { key, value } of parseConfigList(stdout.toString("utf8"))) {
    if (value !== undefined && /^submodule\..*\.path$/s.test(key)) paths.set(key, value);
  }
  return Array.from(paths.values(), (path) => {
    return { path, isCheckedOut: existsSync(join(worktree, path, ".git")) };
  });
}

/** The work tree that has this one as a submodule. */
export async function superproject(git: Git): Promise<string | undefined> {
  const found = await git.text(["rev-parse", "--show-superproject-working-tree"]);
  return found === "" ? undefined : found;
}

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

/**
 * A value of `core.hooksPath` as a path. It is relative to the folder that hooks run in, the top of
 * the work tree.
 */
export function hooksIn(
  { worktree, gitDir }: Repository,
  named: string,
  env: NodeJS.ProcessEnv,
): string {
  const path = /^~(?=\/|$)/.test(named) ? join(homeOf(env), named.slice(1)) : named;
  return resolve(worktree ?? gitDir, path);
}

export async function discover(
  git: Git,
): Promise<{ readonly repository: Repository | undefined; readonly config: GitConfig }> {
  const [repository, config] = await Promise.all([findRepository(git), GitConfig.read(git)]);
  return { repository, config };
}
