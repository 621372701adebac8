import { join } from "node:path";

import { parseConfigList } from "../config/config-list.ts";
import type { Git } from "../git.ts";
import type { KnownRepository } from "./known-repositories.ts";
import { refProblem } from "./refs.ts";

/**
 * Addresses that start no other program than ssh and git's own helpers. No paths: a command may have made
 * the repository there, and a push would run its hooks.
 */
const ADDRESS = /^(?:(?:https?|ssh|git):\/\/[\w.~/:@%+-]+|[\w.-]+@[\w.-]+:[\w.~/+-]+)$/;
const MOST_NAMED = 5;

/**
 * The settings of a command that are taken over: which branch of a known remote a new branch follows, and
 * the remotes of a repository that had no settings. Null stands for a section of a branch that is removed.
 * Other settings are named in `notes`: many make git run programs.
 */
export async function safeSettings(
  git: Git,
  { commonDir }: KnownRepository,
  now: ReadonlyMap<string, string>,
  notes: string[],
): Promise<[string, string | null][]> {
  const list = ["config", "--file", join(commonDir, "config"), "--no-includes", "-z", "--list"];
  const { stdout } = await git.run(list, { accepts: [0, 1] });
  const before = new Map(
    parseConfigList(stdout.toString("utf8")).map(({ key, value }) => [key, value ?? "true"]),
  );
  const isFresh = ![...before.keys()].some((key) => !key.startsWith("core."));
  const remotes = new Set([...before.keys()].map((key) => REMOTE.exec(key)?.[1] ?? ""));
  // Git takes the name of a remote without an address for a path.
  for (const [key, value] of isFresh ? now : [])
    if (ADDRESS.test(value)) remotes.add(REMOTE.exec(key)?.[1] ?? "");
  const sectionOf = (key: string): string => key.slice(0, key.lastIndexOf("."));
  const sections = new Set([...now.keys()].map(sectionOf));
  const isGone = (section: string): boolean => /^branch\../.test(section) && !sections.has(section);
  const gone = new Set([...before.keys()].map(sectionOf).filter(isGone));
  const taken: [string, string | null][] = [...gone].map((section) => [section, null]);
  const left: string[] = [];
  for (const [key, value] of now) {
    if (before.get(key) === value) continue;
    const isNew = !before.has(key);
    if (isNew && isSafe(key, value, remotes, isFresh)) taken.push([key, value]);
    else if (!isFresh || !key.startsWith("core.")) left.push(key);
  }
  if (left.length > 0) {
    const keys = left.slice(0, MOST_NAMED).map((key) => `'${key.slice(0, 100)}'`);
    const more = left.length > MOST_NAMED ? " and others" : "";
    notes.push(`settings are not for commands to change. Ask for ${keys.join(", ")}${more}`);
  }
  return taken;
}

const REMOTE = /^remote\.([\w.-]+)\.url$/s;

function isSafe(
  key: string,
  value: string,
  remotes: ReadonlySet<string>,
  isFresh: boolean,
): boolean {
  const [, branch, field] = /^branch\.(.+)\.(remote|merge)$/s.exec(key) ?? [];
  if (branch !== undefined && refProblem(`refs/heads/${branch}`) === undefined) {
    if (field === "remote") return value === "." || (value !== "" && remotes.has(value));
    return value.startsWith("refs/heads/") && refProblem(value) === undefined;
  }
  const [, remote = "", what] = /^remote\.([\w.-]+)\.(url|fetch)$/s.exec(key) ?? [];
  if (!isFresh || !remotes.has(remote) || remote.startsWith("-")) return false;
  if (what === "url") return ADDRESS.test(value);
  return value === `+refs/heads/*:refs/remotes/${remote}/*`;
}
