import { isUtf8 } from "node:buffer";

import { TrunklineError } from "../base/errors.ts";
import { configBoolean, type ConfigScope } from "./config-list.ts";
import type { Git } from "./git.ts";

/** A program that git is configured to run. */
export interface ConfiguredProgram {
  /** What it is for, as people say it: `filter lfs`. */
  readonly name: string;
  readonly command: string;
  /** The repository's own configuration names it, not the person's. */
  readonly isRepositorys: boolean;
}

/** What git's configuration in a folder says of programs, and of where the files are. */
export interface ConfiguredPrograms {
  /** Keys that have no program run once they are empty. */
  readonly keys: readonly string[];
  /** Run on what is added. */
  readonly filters: readonly ConfiguredProgram[];
  /** Run at commits, besides the hooks that are files. */
  readonly hooks: readonly (ConfiguredProgram & { readonly event: string })[];
  /** Run to sign, if commits are signed here. */
  readonly signers: readonly ConfiguredProgram[];
  /** `core.hooksPath`, as it is written. */
  readonly hooksPath: string | undefined;
  /** `trunkline.hooksBefore`: where hooks were before the guard was put in front of them. */
  readonly hooksBefore: string | undefined;
  /** `core.worktree` of the repository. */
  readonly workTree: string | undefined;
}

interface Entry {
  readonly scope: ConfigScope;
  readonly key: string;
  readonly value: string | undefined;
}

const FILTER = /^filter\.(.*)\.(clean|smudge|process|required)$/s;
const HOOK = /^hook\.(.*)\.(command|event|enabled)$/s;
const SIGNER = /^gpg\.(?:(.*)\.)?program$/s;
/** Each is an argument of every call. A repository that has more is not one that people made. */
const MOST_KEYS = 1_000;

/** Asks git for its configuration, which runs nothing. */
export async function configuredPrograms(git: Git): Promise<ConfiguredPrograms> {
  const { stdout } = await git.run(["config", "-z", "--show-scope", "--list"]);
  const entries = entriesOf(stdout.toString("latin1"));
  const keys = new Set<string>();
  for (const { key } of entries) {
    const [, hook] = HOOK.exec(key) ?? [];
    if (FILTER.test(key)) keys.add(named(key));
    // git 2.54 and later: hooks that are no files.
    else if (hook !== undefined) keys.add(named(`hook.${hook}.enabled`));
  }
  if (keys.size > MOST_KEYS) {
    const says = `Cannot read the repository in '${git.folder}': it configures ${keys.size} filters and hooks, more than ${MOST_KEYS}`;
    throw new TrunklineError("untrusted", `${says}. Look at its .git/config`);
  }
  const last = (key: string): string | undefined => {
    const value = entries.findLast((entry) => entry.key === key)?.value;
    return value === undefined ? undefined : decoded(value);
  };
  const own = entries.filter(({ scope }) => scope === "local" || scope === "worktree");
  const workTree = own.findLast(({ key }) => key === "core.worktree")?.value;
  const signs = entries.findLast(({ key }) => key === "commit.gpgsign");
  const isSigning = signs !== undefined && configBoolean(signs.value) === true;
  return {
    keys: [...keys],
    filters: filtersOf(entries),
    hooks: hooksOf(entries),
    signers: isSigning ? programsOf(entries, SIGNER, "signing program") : [],
    hooksPath: last("core.hookspath"),
    hooksBefore: last("trunkline.hooksbefore"),
    workTree: workTree === undefined ? undefined : decoded(workTree),
  };
}

/** What `git config -z --show-scope --list` writes, of which every byte is one character. */
function entriesOf(text: string): Entry[] {
  const parts = text.split("\0");
  const entries: Entry[] = [];
  for (let at = 0; at + 1 < parts.length; at += 2) {
    const [scope = "", entry = ""] = parts.slice(at, at + 2);
    const end = entry.indexOf("\n");
    const key = end < 0 ? entry : entry.slice(0, end);
    const value = end < 0 ? undefined : entry.slice(end + 1);
    entries.push({ scope: scope as ConfigScope, key, value });
  }
  return entries;
}

/** A key as it can be given to git: arguments are text, and names in files may be any bytes. */
function named(key: string): string {
  if (isUtf8(Buffer.from(key, "latin1"))) return decoded(key);
  const says = `git is configured to run a program under a name that is not UTF-8 ('${decoded(key)}')`;
  throw new TrunklineError("untrusted", `Cannot use this repository: ${says}. Rename it`);
}

function decoded(bytes: string): string {
  return Buffer.from(bytes, "latin1").toString("utf8");
}

function filtersOf(entries: readonly Entry[]): ConfiguredProgram[] {
  const cleaning = entries.filter(({ key }) => /\.(?:clean|process)$/.test(key));
  return programsOf(cleaning, FILTER, "filter");
}

/** The commands that are in force, by name. */
function programsOf(entries: readonly Entry[], key: RegExp, what: string): ConfiguredProgram[] {
  const found = new Map<string, ConfiguredProgram>();
  for (const entry of entries) {
    const match = key.exec(entry.key);
    if (match === null) continue;
    const name = `${what} ${decoded(match[1] ?? "")}`.trim();
    found.set(entry.key, {
      name,
      command: decoded(entry.value ?? ""),
      isRepositorys: entry.scope === "local" || entry.scope === "worktree",
    });
  }
  return [...found.values()].filter(({ command }) => command !== "");
}

function hooksOf(entries: readonly Entry[]): (ConfiguredProgram & { event: string })[] {
  const commands = entries.filter(({ key }) => key.endsWith(".command"));
  return programsOf(commands, HOOK, "hook").flatMap((program) => {
    const event = `hook.${program.name.slice("hook ".length)}.event`;
    const events = entries.filter(({ key }) => decoded(key) === event);
    return events.map(({ value }) => ({ ...program, event: decoded(value ?? "") }));
  });
}
