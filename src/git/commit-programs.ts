import { access, constants, readdir, stat } from "node:fs/promises";
import { isAbsolute, join, relative, resolve } from "node:path";

import { readRegularFile, UnfitFileError } from "../base/file/read-regular-file.ts";
import type { ConfigEntry, GitConfig } from "./config/git-config.ts";
import { discover, hooksFolder, hooksIn } from "./repository.ts";
import type { Git } from "./git.ts";
import type { Repository } from "./git-folder.ts";

/** A program that git runs at a commit or a merge. */
export interface CommitProgram {
  /** As people say it: "hook pre-commit". */
  readonly name: string;
  /** The file, or the command line. One in the work tree is relative to its top. */
  readonly command: string;
  /** A hash of the program and of its files in the work tree. */
  readonly digest: string;
}

export interface CommitPrograms {
  readonly programs: readonly CommitProgram[];
  /** A hash of the programs and their files. It changes when other programs would run. */
  readonly digest: string;
}

/** What `git add` and `git commit` run (githooks(5)). */
const HOOKS = [
  ...["pre-commit", "prepare-commit-msg", "commit-msg", "post-commit"],
  ...["post-index-change", "reference-transaction", "pre-auto-gc"],
];
/** Hooks that `git merge` runs in addition. */
const MERGE_HOOKS = ["pre-merge-commit", "post-merge", "post-checkout"];
/** A larger hook is not read: its size and time go into the digest instead. */
const LARGEST_HOOK = 1024 * 1024;
/** Files of a folder of hooks that are looked at. */
const MOST_FILES = 500;

/**
 * The programs that git would run at a commit in this folder: all hooks, and the programs that the
 * repository's own configuration names. Programs that the user has configured for all repositories
 * (a filter for large files, say) are not listed.
 */
export async function commitPrograms(git: Git): Promise<CommitPrograms> {
  const programs = await programsOf(git, HOOKS, ["clean", "process"]);
  return { programs, digest: programs.length === 0 ? "" : hashOf(JSON.stringify(programs)) };
}

/** The programs that git would run at a commit and a merge: also filters that write files, and merge drivers. */
export async function landPrograms(git: Git): Promise<CommitProgram[]> {
  return await programsOf(git, [...HOOKS, ...MERGE_HOOKS], ["clean", "process", "smudge"]);
}

async function programsOf(
  git: Git,
  hooks: readonly string[],
  filterKinds: readonly string[],
): Promise<CommitProgram[]> {
  const { repository, config } = await discover(git);
  if (repository === undefined) return [];
  const top = repository.worktree ?? repository.gitDir;
  const found: NamedProgram[] = [];
  const programs: CommitProgram[] = [];
  for (const folder of foldersOf(repository, config, git.env)) {
    // A hook in the work tree runs what is beside it, as those of husky do.
    const beside = isIn(top, folder) ? await contentsIn(folder) : "";
    for (const hook of hooks) {
      // The guard renames an existing hook to this name, and runs it.
      for (const file of [join(folder, hook), join(folder, `${hook}.before-trunkline`)]) {
        const content = await contentOf(file);
        if (content === undefined) continue;
        const command = isIn(top, file) ? relative(top, file) : file;
        programs.push({ name: `hook ${hook}`, command, digest: hashOf(content, beside) });
      }
    }
  }
  found.push(...configuredHooks(config, hooks), ...filters(config, filterKinds));
  found.push(...signers(config), ...mergeDrivers(config));
  for (const each of found) {
    const files = await Promise.all(
      filesIn(top, each.command).map((file) => contentOf(file, constants.R_OK)),
    );
    programs.push({ ...each, digest: hashOf(each.command, ...files.map((file) => file ?? "")) });
  }
  return programs;
}

function hashOf(...parts: readonly (Buffer | string)[]): string {
  const hash = process.getBuiltinModule("node:crypto").createHash("sha256");
  for (const part of parts) hash.update(part).update("\0");
  return hash.digest("hex");
}

function isIn(top: string, path: string): boolean {
  const way = relative(top, path);
  // The git folder is in the work tree, but not part of it.
  return !isAbsolute(way) && !/^(?:\.\.|\.git)(?:\/|$)/.test(way);
}

/** Files of the work tree that a command line may name. */
function filesIn(top: string, command: string): string[] {
  const words = command.split(/[\s"'`;|&()<>=]+/).filter((word) => word !== "");
  return words.map((word) => resolve(top, word)).filter((path) => path !== top && isIn(top, path));
}

const byName = (one: string, other: string): number => (one < other ? -1 : 1);

async function contentsIn(folder: string): Promise<string> {
  const names = await readdir(folder, { recursive: true }).catch(() => []);
  const contents: string[] = [];
  for (const name of names.toSorted(byName).slice(0, MOST_FILES)) {
    contents.push(name, hashOf((await contentOf(join(folder, name), constants.R_OK)) ?? ""));
  }
  return contents.join("\n");
}

/**
 * The folder of hooks, and the one that was configured before the guard: the guard runs its hooks
 * too.
 */
function foldersOf(repository: Repository, config: GitConfig, env: NodeJS.ProcessEnv): string[] {
  const before = config.get("trunkline.hooksBefore");
  return [
    hooksFolder(repository, config, env),
    ...(before === undefined ? [] : [hooksIn(repository, before, env)]),
  ];
}

async function contentOf(
  file: string,
  right = constants.X_OK,
): Promise<Buffer | string | undefined> {
  try {
    await access(file, right);
    return readRegularFile(file, { most: LARGEST_HOOK });
  } catch (error) {
    if (error instanceof UnfitFileError && error.size !== undefined) {
      const { size, mtimeMs } = await stat(file);
      return `${size} ${mtimeMs}`;
    }
    // A pipe, say, which git cannot run.
    return undefined;
  }
}

type NamedProgram = Omit<CommitProgram, "digest">;

/** Since git 2.54 a hook can be a command of the configuration. */
function configuredHooks(config: GitConfig, hooks: readonly string[]): NamedProgram[] {
  return config.subsections("hook", "command").flatMap((name) => {
    const events = config.values(`hook.${name}.event`).filter((event) => hooks.includes(event));
    const command = config.get(`hook.${name}.command`) ?? "";
    return events.length === 0 ? [] : [{ name: `hook ${name} (${events.join(", ")})`, command }];
  });
}

function filters(config: GitConfig, kinds: readonly string[]): NamedProgram[] {
  return kinds.flatMap((kind) =>
    // A name can be empty.
    ["", ...config.subsections("filter", kind)].flatMap((name) => {
      return own(config.last(`filter.${name}.${kind}`), `filter ${name}`.trim());
    }),
  );
}

/** Listed whether or not commits are signed now: an identity may turn signing on. */
function signers(config: GitConfig): NamedProgram[] {
  const keys = ["gpg.program", ...["openpgp", "x509", "ssh"].map((each) => `gpg.${each}.program`)];
  return [...keys, "gpg.ssh.defaultKeyCommand"].flatMap((key) => {
    return own(config.last(key), "signing program");
  });
}

function mergeDrivers(config: GitConfig): NamedProgram[] {
  return config.subsections("merge", "driver").flatMap((name) => {
    return own(config.last(`merge.${name}.driver`), `merge driver ${name}`);
  });
}

/** Only entries of the repository's own configuration. */
function own(entry: ConfigEntry | undefined, name: string): NamedProgram[] {
  const isOwn = entry?.scope === "local" || entry?.scope === "worktree";
  return isOwn && entry.value ? [{ name, command: entry.value }] : [];
}
