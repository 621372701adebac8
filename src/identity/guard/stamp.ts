import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, readFile, rm, stat } from "node:fs/promises";
import { dirname, isAbsolute, join, resolve } from "node:path";

import { parseScopedList } from "../../git/config/config-list.ts";
import type { Git } from "../../git/git.ts";
import type { Repository } from "../../git/git-folder.ts";
import { replaceFile } from "../../store/replace-file.ts";

/** Where a git folder has its stamp. */
export const STAMP = "trunkline/stamp";

/** Separates values; no tab, because `read` takes several of those for one. */
export const SEPARATOR = "\u001F";

/** The variables that change who commits, or which files say so. */
export const STAMPED_VARIABLES = [
  ...["GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL", "EMAIL"],
  ...["GIT_CONFIG_PARAMETERS", "GIT_CONFIG_COUNT", "GIT_CONFIG", "GIT_CONFIG_GLOBAL"],
  ...["GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM", "HOME", "XDG_CONFIG_HOME"],
  ...["TRUNKLINE_IDENTITY", "TRUNKLINE_CONFIG", "TRUNKLINE_DATA"],
] as const;

/** Files that exist while git applies commits, which others may have written. */
export const OTHERS_WORK = ["CHERRY_PICK_HEAD", "REVERT_HEAD", "rebase-merge", "rebase-apply"];

export interface Stamped {
  readonly git: Git;
  readonly repository: Repository;
  /** The environment of the hook. */
  readonly env: NodeJS.ProcessEnv;
  /** Files besides git's that the verdict depends on, whether they exist or not. */
  readonly files: readonly string[];
  /** When the guard began to read files, in milliseconds since 1970. */
  readonly begun?: number;
}

/** Milliseconds: some file systems note only every other second when a file was changed. */
const COARSEST_TIME = 2_000;

/**
 * Notes what an allowed commit depended on: the folder, variables, and the content of configuration
 * files. While none of it changes, the hook allows commits by itself, without Node and without git. A
 * case that a shell cannot compare is not noted, and the guard is asked each time.
 */
export async function writeStamp(stamped: Stamped): Promise<void> {
  const { repository, env } = stamped;
  const path = join(repository.gitDir, STAMP);
  await removeStamp(repository);
  const { worktree: folder = "" } = repository;
  const values = STAMPED_VARIABLES.map((name) => env[name] ?? "");
  const isUsual = env.GIT_CONFIG_PARAMETERS === undefined && env.GIT_CONFIG_COUNT === undefined;
  if (!isUsual || OTHERS_WORK.some((name) => existsSync(join(repository.gitDir, name)))) return;
  const files = await dependencies(stamped);
  if (files === undefined) return;
  const there = files.filter((file) => existsSync(file));
  const missing = files.filter((file) => !there.includes(file));
  if ([folder, ...values, ...files].some((text) => !isPlain(text))) return;
  // The verdict may be about what such a file contained before.
  const { begun = performance.timeOrigin } = stamped;
  const times = await Promise.all(there.map((file) => stat(file)));
  const changed = Math.max(...times.map(({ ctimeMs, mtimeMs }) => Math.max(ctimeMs, mtimeMs)));
  if (changed > begun - COARSEST_TIME) return;
  const sums = await Promise.all(there.map(async (file) => `${await sumOf(file)}  ${file}`));
  await mkdir(dirname(path), { recursive: true });
  const lines = [folder, values.join(SEPARATOR), missing.join(SEPARATOR), ...sums];
  await replaceFile(path, `${lines.join("\n")}\n`);
}

/** Whether a text can stand in a line of the stamp; sha256sum(1) escapes backslashes. */
function isPlain(text: string): boolean {
  return !["\\", "\n", SEPARATOR].some((each) => text.includes(each));
}

export async function removeStamp({ gitDir }: Repository): Promise<void> {
  await rm(join(gitDir, STAMP), { force: true });
}

async function sumOf(file: string): Promise<string> {
  return createHash("sha256")
    .update(await readFile(file))
    .digest("hex");
}

/** All files that could change the verdict; undefined if not only files decide. */
async function dependencies(stamped: Stamped): Promise<string[] | undefined> {
  const { git, repository, env, files } = stamped;
  const list = await git.text(["config", "-z", "--show-scope", "--show-origin", "--list"]);
  const entries = parseScopedList(list);
  const home = env.HOME ?? "";
  const found = new Set([
    ...files,
    join(repository.commonDir, "config"),
    join(repository.gitDir, "config.worktree"),
    env.GIT_CONFIG_SYSTEM ?? "/etc/gitconfig",
    env.GIT_CONFIG_GLOBAL ?? join(home, ".gitconfig"),
    join(env.XDG_CONFIG_HOME ?? join(home, ".config"), "git/config"),
    // An SSH alias can stand for another host.
    join(home, ".ssh/config"),
    "/etc/ssh/ssh_config",
  ]);
  for (const { key, value = "", origin } of entries) {
    // Our own settings for this call; the person has given none by variables.
    if (!origin.startsWith("file:")) continue;
    const file = resolve(git.folder, origin.slice("file:".length));
    found.add(file);
    // A branch decides; it can change without a file that is listed here.
    if (/^includeif\.onbranch:/i.test(key)) return undefined;
    if (/^include(?:if\..*)?\.path$/is.test(key)) {
      const path = value.startsWith("~/") ? join(home, value.slice(2)) : value;
      if (path.startsWith("~") || path.startsWith("%")) return undefined;
      found.add(isAbsolute(path) ? path : resolve(dirname(file), path));
    }
  }
  const ssh = await readFile(join(home, ".ssh/config"), "utf8").catch(() => "");
  return /^\s*(?:include|match)\b/im.test(ssh) ? undefined : [...found];
}
