import { isUtf8 } from "node:buffer";

import { TrunklineError } from "../../base/errors.ts";
import type { Git } from "../git.ts";

/** The settings in a folder that decide how git reads files of the work tree. */
export interface FilterSettings {
  /** The keys of all configured filters. With empty values, no filter runs. */
  readonly keys: readonly string[];
  /** Those that the repository configures itself, other than Git LFS. */
  readonly own: readonly string[];
  /** The keys that turn off hooks of the configuration, which git has since 2.54. */
  readonly hooks: readonly string[];
  /**
   * `core.worktree`: the folder of the files, as the repository or one of its work trees configures
   * it.
   */
  readonly workTree: { readonly local?: string; readonly worktree?: string };
}

const FILTER = /^filter\.(.*)\.(clean|smudge|process|required)$/s;
const HOOK = /^(hook\..*)\.(?:command|event)$/s;
/** What `git lfs install --local` writes. Its program is looked up in PATH, so it is the user's. */
const LFS: ReadonlySet<string> = new Set([
  ...["git-lfs clean -- %f", "git-lfs smudge -- %f", "git-lfs smudge --skip -- %f"],
  ...["git-lfs filter-process", "git-lfs filter-process --skip", "true"],
]);
/** Each key is an argument of the call. No real repository has more. */
const MOST_KEYS = 1_000;

/** Asks git for its configuration, which runs nothing. */
export async function filterSettings(git: Git): Promise<FilterSettings> {
  const { stdout } = await git.run(["config", "-z", "--show-scope", "--list"]);
  // Latin-1, because a filter's name may be any bytes.
  const parts = stdout.toString("latin1").split("\0");
  const keys = new Set<string>();
  const own = new Set<string>();
  const hooks = new Set<string>();
  const workTree: { local?: string; worktree?: string } = {};
  for (let at = 0; at + 1 < parts.length; at += 2) {
    const [scope = "", entry = ""] = parts.slice(at, at + 2);
    const [key = ""] = entry.split("\n", 1);
    if (FILTER.test(key)) keys.add(key);
    const [, hook] = HOOK.exec(key) ?? [];
    if (hook !== undefined) hooks.add(`${hook}.enabled`);
    if (scope !== "local" && scope !== "worktree") continue;
    if (FILTER.test(key) && !LFS.has(entry.slice(key.length + 1))) own.add(key);
    if (key !== "core.worktree") continue;
    workTree[scope] = decoded(entry.slice(key.length + 1));
  }
  if (keys.size + hooks.size > MOST_KEYS) {
    const count = keys.size + hooks.size;
    const says = `it has ${count} settings of filters and hooks, more than ${MOST_KEYS}`;
    throw refusal(git, `${says}. Look at its .git/config`);
  }
  const foreign = [...keys, ...hooks].find((key) => !isUtf8(Buffer.from(key, "latin1")));
  if (foreign !== undefined) {
    // Arguments are UTF-8, so this could not be turned off.
    throw refusal(git, `its setting '${decoded(foreign)}' has a name that is not UTF-8. Rename it`);
  }
  return {
    keys: [...keys].map(decoded),
    own: [...own].map(decoded),
    hooks: [...hooks].map(decoded),
    workTree,
  };
}

function refusal({ folder }: Git, why: string): TrunklineError {
  return new TrunklineError("untrusted", `Cannot use the repository in '${folder}': ${why}`);
}

function decoded(bytes: string): string {
  return Buffer.from(bytes, "latin1").toString("utf8");
}

/**
 * Whether git applies a filter to a file of the work tree. Reading runs no filters, so git's answer
 * about the content of such a file would be wrong.
 */
export async function isFiltered(git: Git, path: string): Promise<boolean> {
  const { keys } = await filterSettings(git);
  if (keys.length === 0) return false;
  const { stdout } = await git.run(["check-attr", "-z", "filter", "--", path]);
  // `path NUL attribute NUL value NUL`
  const [, , filter = ""] = stdout.toString("utf8").split("\0");
  return keys.some((key) => key.startsWith(`filter.${filter}.`));
}
