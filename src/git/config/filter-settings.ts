import { isUtf8 } from "node:buffer";

import { TrunklineError } from "../../base/errors.ts";
import type { Git } from "../git.ts";

/** What git's configuration in a folder says of how files are read. */
export interface FilterSettings {
  /** All that have filters run; none does once they are empty. */
  readonly keys: readonly string[];
  /** `core.worktree`: where the repository says that its files are, or one of its work trees. */
  readonly workTree: { readonly local?: string; readonly worktree?: string };
}

const FILTER = /^filter\.(.*)\.(clean|smudge|process|required)$/s;
/** Each is an argument of the call. A repository that has more is not one that people made. */
const MOST_KEYS = 1_000;

/** Asks git for its configuration, which runs nothing. */
export async function filterSettings(git: Git): Promise<FilterSettings> {
  const { stdout } = await git.run(["config", "-z", "--show-scope", "--list"]);
  // Every byte is one character: a name may be any bytes.
  const parts = stdout.toString("latin1").split("\0");
  const keys = new Set<string>();
  const workTree: { local?: string; worktree?: string } = {};
  for (let at = 0; at + 1 < parts.length; at += 2) {
    const [scope = "", entry = ""] = parts.slice(at, at + 2);
    const [key = ""] = entry.split("\n", 1);
    if (FILTER.test(key)) keys.add(key);
    if (key !== "core.worktree" || (scope !== "local" && scope !== "worktree")) continue;
    workTree[scope] = decoded(entry.slice(key.length + 1));
  }
  if (keys.size > MOST_KEYS) {
    const says = `it has ${keys.size} settings of filters, more than ${MOST_KEYS}`;
    throw refusal(git, `${says}. Look at its .git/config`);
  }
  const foreign = [...keys].find((key) => !isUtf8(Buffer.from(key, "latin1")));
  if (foreign !== undefined) {
    // Arguments are text, so that it could not be turned off.
    throw refusal(git, `its filter '${decoded(foreign)}' has a name that is not UTF-8. Rename it`);
  }
  return { keys: [...keys].map(decoded), workTree };
}

function refusal({ folder }: Git, why: string): TrunklineError {
  return new TrunklineError("untrusted", `Cannot use the repository in '${folder}': ${why}`);
}

function decoded(bytes: string): string {
  return Buffer.from(bytes, "latin1").toString("utf8");
}

/**
 * Whether a file of the work tree is made by a filter from what is stored of it. Reading runs no
 * filters, so what git says that it holds is then not what it holds.
 */
export async function isFiltered(git: Git, path: string): Promise<boolean> {
  const { keys } = await filterSettings(git);
  if (keys.length === 0) return false;
  const { stdout } = await git.run(["check-attr", "-z", "filter", "--", path]);
  // `path NUL attribute NUL value NUL`
  const [, , filter = ""] = stdout.toString("utf8").split("\0");
  return keys.some((key) => key.startsWith(`filter.${filter}.`));
}
