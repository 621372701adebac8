import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { chmod, mkdir, readdir, rename, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";

import { TrunklineError } from "../../base/errors.ts";
import { readRegularFile, UnfitFileError } from "../../base/file/read-regular-file.ts";
import { shellQuote } from "../../base/text/shell-word.ts";
import { type ConfigScope, setConfig, unsetConfig } from "../../git/config/git-config.ts";
import type { Repository } from "../../git/git-folder.ts";
import { hooksFolder, hooksIn } from "../../git/repository.ts";
import { type OwnProgram, programWords } from "../credential/helper-command.ts";
import type { GitContext, RepositoryContext } from "../detect/detect.ts";
import { GUARD_HOOKS, type GuardHook } from "./guard.ts";
import { SESSION_MARK } from "../../git/git.ts";
import { agentHooks, SESSION_VARIABLE } from "../agent-commits.ts";

export interface GuardStatus {
  readonly isInstalled: boolean;
  /** The folder that git uses for hooks here. */
  readonly hooks: string;
  readonly guarded: readonly GuardHook[];
  /** Existing hooks that run after the guard. */
  readonly chained: readonly string[];
  /** Why git cannot run the hooks as they are: then it refuses every commit, or checks none. */
  readonly broken: string | undefined;
  readonly says: string;
}

/** The other client-side hooks (githooks(5)). */
const OTHER_HOOKS = [
  ...["applypatch-msg", "pre-applypatch", "post-applypatch", "prepare-commit-msg", "commit-msg"],
  ...["post-commit", "pre-rebase", "post-checkout", "post-merge", "post-rewrite", "pre-auto-gc"],
  ...["fsmonitor-watchman", "post-index-change", "reference-transaction", "sendemail-validate"],
];

/** Bytes of a hook that is read; a longer one is not ours. */
const LARGEST_HOOK = 1024 * 1024;

/** The key that stores the former core.hooksPath. */
const BEFORE = "trunkline.hooksBefore";

/**
 * Installs hooks that ask the guard before commits and pushes, in all work trees of the repository.
 */
export async function installGuard(
  context: RepositoryContext,
  program: OwnProgram,
): Promise<GuardStatus> {
  const { repository, config, git } = context;
  const named = config.last("core.hooksPath");
  const own = ownFolder(repository);
  const isOurs = named?.value !== undefined && hooksFolder(repository, config, git.env) === own;
  if (named?.value === undefined) await installBeside(join(repository.commonDir, "hooks"), program);
  else {
    const before = isOurs ? config.get(BEFORE) : named.value;
    // A shell does not expand `~` in quotes.
    const isInHome = before?.startsWith("~") === true;
    const next = isInHome ? hooksIn(repository, before, git.env) : (before ?? "");
    await installInFront(own, next, program);
    if (!isOurs) await pointTo(context, own, named.value, scopeOf(named.scope));
  }
  return await guardStatus(context, isOurs || named?.value === undefined ? undefined : own);
}

/** Installs into the repository's own hooks folder; existing hooks are renamed. */
async function installBeside(folder: string, program: OwnProgram): Promise<void> {
  await mkdir(folder, { recursive: true });
  for (const hook of GUARD_HOOKS) {
    const path = join(folder, hook);
    const text = textOf(path);
    if (text !== undefined && !text.includes(HOOK_MARK)) {
      if (textOf(join(folder, keptName(hook))) !== undefined) {
        const says = `Cannot install the guard: '${join(folder, keptName(hook))}' already exists`;
        throw new TrunklineError("conflict", says);
      }
      await rename(path, join(folder, keptName(hook)));
    }
    await writeHook(path, guardScript(hook, program, `"\${0%/*}"/${keptName(hook)}`));
  }
}

/**
 * A configured hooks folder may be shared or under version control, so it is not changed: ours
 * takes its place and calls it.
 */
async function installInFront(folder: string, before: string, program: OwnProgram): Promise<void> {
  await mkdir(folder, { recursive: true });
  // Git runs hooks in the top folder, so a relative path is relative to it.
  const next = (hook: string): string => shellQuote(join(before, hook).replace(/^(?!\/)/, "./"));
  for (const hook of GUARD_HOOKS) {
    await writeHook(join(folder, hook), guardScript(hook, program, next(hook)));
  }
  for (const hook of OTHER_HOOKS) await writeHook(join(folder, hook), passingScript(next(hook)));
}

async function pointTo(
  { git }: GitContext,
  folder: string,
  before: string,
  scope: "local" | "worktree",
): Promise<void> {
  await setConfig(git, scope, BEFORE, [before]);
  await setConfig(git, scope, "core.hooksPath", [folder]);
}

/** Removes the guard and restores the former hooks. Returns whether it was installed. */
export async function removeGuard(context: RepositoryContext): Promise<boolean> {
  const { repository, config, git } = context;
  const own = ownFolder(repository);
  const named = config.last("core.hooksPath");
  let wasThere = false;
  if (named?.value === own) {
    const scope = scopeOf(named.scope);
    const before = config.get(BEFORE);
    await unsetConfig(git, scope, "core.hooksPath");
    await unsetConfig(git, scope, BEFORE);
    // Set again only if it was set in this file: a weaker file still has its own value.
    const others = config.all("core.hooksPath").filter(({ value }) => value !== own);
    if (before !== undefined && others.at(-1)?.value !== before) {
      await setConfig(git, scope, "core.hooksPath", [before]);
    }
    await rm(own, { recursive: true, force: true });
    wasThere = true;
  }
  const folder = join(repository.commonDir, "hooks");
  for (const hook of GUARD_HOOKS) {
    const path = join(folder, hook);
    if (!textOf(path)?.includes(HOOK_MARK)) continue;
    wasThere = true;
    await rm(path);
    await rename(join(folder, keptName(hook)), path).catch(() => {});
  }
  return wasThere;
}

/** Which hooks git would run here now. */
export async function guardStatus(
  { repository, config, git }: RepositoryContext,
  changedTo?: string,
): Promise<GuardStatus> {
  const hooks = changedTo ?? hooksFolder(repository, config, git.env);
  const guarded = GUARD_HOOKS.filter((hook) => textOf(join(hooks, hook))?.includes(HOOK_MARK));
  const broken = await brokenHook(hooks, guarded);
  const isInstalled = guarded.length === GUARD_HOOKS.length;
  const chained = (await readdir(hooks).catch(() => []))
    .filter((name) => name.endsWith(keptName("")))
    .map((name) => name.slice(0, -keptName("").length));
  const missing = GUARD_HOOKS.filter((hook) => !guarded.includes(hook));
  const next = "Run `trunkline identity guard install`";
  const says =
    broken !== undefined
      ? `${broken} ${next}.`
      : isInstalled
        ? `The guard checks every commit and push (${hooks}).`
        : guarded.length > 0
          ? `The guard is incomplete: ${missing.join(", ")} missing in ${hooks}. ${next}.`
          : `The guard is not installed in ${hooks}. ${next}.`;
  return { isInstalled, hooks, guarded, chained, broken, says };
}

/** Why git cannot run one of the hooks; undefined if it can run all. */
async function brokenHook(
  hooks: string,
  guarded: readonly GuardHook[],
): Promise<string | undefined> {
  for (const hook of guarded) {
    const path = join(hooks, hook);
    const missing = filesNeededBy(textOf(path) ?? "").find((each) => !existsSync(each));
    if (missing !== undefined) {
      return `The guard refuses every ${hook === "pre-push" ? "push" : "commit"}: ${path} needs '${missing}', which does not exist. Perhaps Trunkline or Node was moved.`;
    }
    if (process.platform === "win32") continue;
    const { mode } = await stat(path);
    // githooks(5): a hook that is not executable is ignored.
    if ((mode & 0o111) === 0) return `The guard checks nothing: ${path} is not executable.`;
  }
  return undefined;
}

function ownFolder({ commonDir }: Repository): string {
  return join(commonDir, "trunkline", "hooks");
}

function scopeOf(scope: ConfigScope): "local" | "worktree" {
  return scope === "worktree" ? "worktree" : "local";
}

/** The text of a hook; undefined where there is none. A repository may have anything in its place. */
function textOf(path: string): string | undefined {
  try {
    return readRegularFile(path, { most: LARGEST_HOOK })?.toString("latin1");
  } catch (error) {
    return error instanceof UnfitFileError ? "" : undefined;
  }
}

async function writeHook(path: string, text: string): Promise<void> {
  const temporary = `${path}.${crypto.randomUUID()}`;
  await writeFile(temporary, text);
  await chmod(temporary, 0o755);
  await rename(temporary, path);
}

/** Marks hooks that we wrote. */
const HOOK_MARK = "# Trunkline's guard.";

/** The new name of a hook that existed before. */
function keptName(hook: string): string {
  return `${hook}.before-trunkline`;
}

/**
 * A hook that asks Trunkline and then runs the hook that existed before. If Trunkline is missing or
 * fails, the hook refuses: a guard must fail closed.
 */
export function guardScript(hook: GuardHook, program: OwnProgram, next: string): string {
  const check = `${programWords(program, "identity", "guard", "check", hook)} "$@"`;
  const refusal = "Trunkline's guard could not be run. To work without it, delete this hook:";
  const isPush = hook === "pre-push";
  return [
    "#!/bin/sh",
    `${HOOK_MARK} Remove it with: trunkline identity guard remove`,
    // The guard and the next hook both read git's input.
    ...(isPush ? ["refs=$(cat)", `say() { [ -z "$refs" ] || printf '%s\\n' "$refs"; }`] : []),
    isPush ? `say | ${check}` : `${check} </dev/null`,
    "status=$?",
    `[ "$status" -lt 126 ] || echo ${shellQuote(refusal)} "$0" >&2`,
    `[ "$status" -eq 0 ] || exit 1`,
    `next=${next}`,
    `[ -x "$next" ] || exit 0`,
    isPush ? `say | "$next" "$@"` : `exec "$next" "$@"`,
    "",
  ].join("\n");
}

/**
 * The files without which a hook of ours fails: Node, the program, and the configuration if it is
 * named. Read from the text, since the hook may be anybody's and must not be run.
 */
export function filesNeededBy(script: string): string[] {
  const line = script.split("\n").find((each) => each.includes(`'identity' 'guard' 'check'`)) ?? "";
  const words = Array.from(line.matchAll(/'((?:[^']|'\\'')*)'/g), ([, word = ""]) => {
    return word.replaceAll(String.raw`'\''`, "'");
  });
  const at = words.indexOf("--config");
  const config = at < 0 ? [] : words.slice(at + 1, at + 2);
  return [...words.slice(0, words.indexOf("identity")), ...config];
}

/**
 * Hooks for the processes of agents, which add lines to each commit message and then run the hooks of the
 * repository. Returns their folder.
 */
export async function writeTrailerHooks(
  data: string,
  trailers: readonly string[],
): Promise<string> {
  const session = `'"$${SESSION_VARIABLE}"'`;
  const words = trailers.map((line) => `--trailer ${shellQuote(line)}`).join(" ");
  const script = [
    "#!/bin/sh",
    `hook=\${0##*/}`,
    '[ "$hook" != commit-msg ] ||',
    `  git interpret-trailers --in-place --if-exists addIfDifferent ${words.replaceAll(SESSION_MARK, session)} "$1" || exit 1`,
    // The folder that git takes hooks from without the variables that name this one.
    "next=$(env -u GIT_CONFIG_COUNT git rev-parse --git-path hooks)/$hook || exit 1",
    `[ -x "$next" ] || exit 0`,
    `exec "$next" "$@"`,
    "",
  ].join("\n");
  const folder = join(agentHooks(data), createHash("sha256").update(script).digest("hex"));
  await mkdir(folder, { recursive: true, mode: 0o700 });
  for (const hook of [...GUARD_HOOKS, ...OTHER_HOOKS]) {
    if (textOf(join(folder, hook)) !== script) await writeHook(join(folder, hook), script);
  }
  return folder;
}

/** A hook that only runs the one that existed before. */
export function passingScript(next: string): string {
  return [
    "#!/bin/sh",
    `${HOOK_MARK} It does not check this hook, and runs your own.`,
    `next=${next}`,
    `[ -x "$next" ] || exit 0`,
    `exec "$next" "$@"`,
    "",
  ].join("\n");
}
