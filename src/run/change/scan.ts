import { posix } from "node:path";

import type { ServerGit } from "../../git/server/server-git.ts";
import { isGitName, nameJudge } from "./forbidden-name.ts";
import { type IndexEntry, lfsProblems } from "./lfs.ts";
import { readObjects } from "./read-objects.ts";
import { findSecret } from "./secrets.ts";

export interface ScanLimits {
  /** The most bytes of an added or changed file. */
  readonly maxFile: number;
  /** The most bytes of all added and changed files together. */
  readonly maxTotal: number;
  readonly maxFiles: number;
  /** Names and paths that are never committed; `*` matches any text without a slash. */
  readonly denied: readonly string[];
}

/** A file that may not be committed, and why. */
export interface ScanProblem {
  readonly path: string;
  readonly why: string;
}

export interface Scan {
  /** Paths that differ from the last commit. */
  readonly changed: readonly string[];
  readonly problems: readonly ScanProblem[];
}

/** A file that differs from the last commit. */
interface Change extends IndexEntry {
  /** Its object in the last commit; undefined for a new file. */
  readonly before: string | undefined;
}

const LINK = "120000";
const SUBMODULE = "160000";
const NOTHING = /^0+$/;

/**
 * Scans what an index would add to the last commit. It reads git's objects, not the work tree, because
 * nobody can change those before the commit is made.
 */
export async function scanIndex(
  git: ServerGit,
  index: string,
  denied: readonly string[],
): Promise<Scan> {
  const env = { GIT_INDEX_FILE: index };
  const diff = ["diff-index", "--cached", "--raw", "-z", "--no-renames", "--no-abbrev"];
  // Submodules are scanned, too, even if the settings tell git to ignore them.
  const { stdout } = await git.run([...diff, "--ignore-submodules=none", "HEAD"], { env });
  const all = readRaw(stdout.toString("utf8"));
  const kept = all.filter(({ mode }) => !NOTHING.test(mode));
  const judge = nameJudge(denied);
  const problems: ScanProblem[] = [];
  const looked = kept.filter(({ path, mode }) => {
    const why = mode === SUBMODULE ? "it would become a submodule" : judge(path);
    if (why !== undefined) problems.push({ path, why });
    return why === undefined;
  });
  for await (const [change, bytes] of readObjects(git, looked)) {
    const why = await look(git, change, bytes);
    if (why !== undefined) problems.push({ path: change.path, why });
  }
  problems.push(...(await lfsProblems(git, index, looked)));
  return { changed: all.map(({ path }) => path), problems };
}

/** git-diff-index(1), "RAW OUTPUT FORMAT". */
function readRaw(output: string): Change[] {
  const parts = output.split("\0");
  const changes: Change[] = [];
  for (let at = 0; at + 1 < parts.length; at += 2) {
    const [, mode = "", before = "", object = ""] = (parts[at] ?? "").split(" ");
    const was = NOTHING.test(before) ? undefined : before;
    changes.push({ path: parts[at + 1] ?? "", mode, object, before: was });
  }
  return changes;
}

async function look(
  git: ServerGit,
  { path, mode, before }: Change,
  bytes: Buffer,
): Promise<string | undefined> {
  const named = findSecret(Buffer.from(path));
  if (named !== undefined) return `its name seems to hold ${named}`;
  if (findSecret(bytes) !== undefined) {
    // A secret that the last commit already had may stay, such as a sample key of a test.
    const found = findSecret(bytes, await read(git, before));
    if (found !== undefined) return `it seems to hold ${found}`;
  }
  if (mode === LINK) return lookAtLink(path, bytes.toString("utf8"));
  return path === ".gitmodules" ? await lookAtSubmodules(git, bytes, before) : undefined;
}

async function read(git: ServerGit, object: string | undefined): Promise<Buffer | undefined> {
  if (object === undefined) return undefined;
  const { stdout, code } = await git.run(["cat-file", "blob", object], { accepts: [0, 128] });
  // The path was a submodule before, which has no blob.
  return code === 0 ? stdout : undefined;
}

/**
 * A link out of the repository reads another file on the machine of the person who merges it. `..` after
 * a name is refused as well: the name may be a link itself, and `..` would then leave the repository.
 */
function lookAtLink(path: string, target: string): string | undefined {
  const steps = target.split("/");
  const firstName = steps.findIndex((step) => step !== ".." && step !== ".");
  const isDetour = firstName >= 0 && steps.slice(firstName).includes("..");
  const way = posix.normalize(posix.join(posix.dirname(path), target));
  const leadsOut = posix.isAbsolute(target) || way === ".." || way.startsWith("../");
  // Absolute paths and separators of Windows.
  const isWindows = /\\|^[a-z]:/i.test(target);
  const leadsIntoGit = steps.some((step) => isGitName(step));
  if (!leadsOut && !isDetour && !isWindows && !leadsIntoGit) return undefined;
  return `it is a link to '${target}', which is outside of the repository`;
}

/** Submodules may be removed. A new one, or a new address, would make the person who merges fetch from it. */
async function lookAtSubmodules(
  git: ServerGit,
  bytes: Buffer,
  before: string | undefined,
): Promise<string | undefined> {
  const settings = async (input: Buffer): Promise<Set<string> | undefined> => {
    const args = ["config", "--file", "-", "--no-includes", "--list", "-z"];
    const { stdout, code } = await git.run(args, { input, accepts: [0, 128] });
    return code === 0 ? new Set(stdout.toString("utf8").split("\0")) : undefined;
  };
  const known = (await settings((await read(git, before)) ?? Buffer.of())) ?? new Set();
  const now = await settings(bytes);
  if (now === undefined) return "git cannot read it";
  return now.isSubsetOf(known)
    ? undefined
    : "it would make git fetch a submodule from a new address";
}
