import { createHash } from "node:crypto";
import { access, constants, stat } from "node:fs/promises";
import { join } from "node:path";

import { readRegularFile, UnfitFileError } from "../base/file/read-regular-file.ts";
import type { ConfigEntry } from "./config/config-list.ts";
import { discover } from "./discover.ts";
import type { Git } from "./git.ts";
import type { GitConfig } from "./config/git-config.ts";
import { hooksFolder, hooksIn, type Repository } from "./repository.ts";

/** A program that git runs at a commit. */
export interface CommitProgram {
  /** As people say it: "hook pre-commit". */
  readonly name: string;
  /** The file, or the command line. */
  readonly command: string;
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
/** A larger hook is not read: its size and time go into the digest instead. */
const LARGEST_HOOK = 1024 * 1024;

/**
 * The programs that git would run at a commit in this folder: all hooks, and the programs that the
 * repository's own configuration names. Programs that the user has configured for all repositories
 * (a filter for large files, say) are not listed.
 */
export async function commitPrograms(git: Git): Promise<CommitPrograms> {
  const { repository, config } = await discover(git);
  if (repository === undefined) return { programs: [], digest: "" };
  const hash = createHash("sha256");
  const programs: CommitProgram[] = [];
  for (const folder of foldersOf(repository, config, git.env)) {
    for (const hook of HOOKS) {
      // The guard renames an existing hook to this name, and runs it.
      for (const file of [join(folder, hook), join(folder, `${hook}.before-trunkline`)]) {
        const content = await contentOf(file);
        if (content === undefined) continue;
        programs.push({ name: `hook ${hook}`, command: file });
        hash.update(file).update("\0").update(content).update("\0");
      }
    }
  }
  const configured = [...configuredHooks(config), ...filters(config), ...signers(config)];
  hash.update(JSON.stringify(configured));
  return { programs: [...programs, ...configured], digest: hash.digest("hex") };
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

async function contentOf(file: string): Promise<Buffer | string | undefined> {
  try {
    await access(file, constants.X_OK);
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

/** Since git 2.54 a hook can be a command of the configuration. */
function configuredHooks(config: GitConfig): CommitProgram[] {
  return config.subsections("hook", "command").flatMap((name) => {
    const events = config.values(`hook.${name}.event`).filter((event) => HOOKS.includes(event));
    const command = config.get(`hook.${name}.command`) ?? "";
    return events.length === 0 ? [] : [{ name: `hook ${name} (${events.join(", ")})`, command }];
  });
}

function filters(config: GitConfig): CommitProgram[] {
  return ["clean", "process"].flatMap((kind) =>
    // A name can be empty.
    ["", ...config.subsections("filter", kind)].flatMap((name) => {
      return own(config.last(`filter.${name}.${kind}`), `filter ${name}`.trim());
    }),
  );
}

/** Listed whether or not commits are signed now: an identity may turn signing on. */
function signers(config: GitConfig): CommitProgram[] {
  const keys = ["gpg.program", ...["openpgp", "x509", "ssh"].map((each) => `gpg.${each}.program`)];
  return [...keys, "gpg.ssh.defaultKeyCommand"].flatMap((key) => {
    return own(config.last(key), "signing program");
  });
}

/** Only entries of the repository's own configuration. */
function own(entry: ConfigEntry | undefined, name: string): CommitProgram[] {
  const isOwn = entry?.scope === "local" || entry?.scope === "worktree";
  return isOwn && entry.value ? [{ name, command: entry.value }] : [];
}
