import { posix } from "node:path";

import type { ServerGit } from "../../git/server/server-git.ts";
import { readObjects, sizesOf } from "./read-objects.ts";
import type { ScanProblem } from "./scan.ts";

/** A file of an index. */
export interface IndexEntry {
  readonly path: string;
  readonly mode: string;
  readonly object: string;
}

/** A pointer has fewer bytes than this (git-lfs, "docs/spec.md"). */
const LONGEST_POINTER = 1024;
const POINTER =
  /^version https:\/\/git-lfs\.github\.com\/spec\/v1\n(?:ext-\d-\S+ \S+\n)*oid sha256:[0-9a-f]{64}\nsize \d+\n?$/;

/**
 * Finds files of Git LFS that a push would break: content in place of a pointer, since we run no LFS
 * filter, or a pointer to an object that nobody has uploaded.
 */
export async function lfsProblems(
  git: ServerGit,
  index: string,
  changed: readonly IndexEntry[],
): Promise<ScanProblem[]> {
  const kept = await keptByLfs(git, index, changed);
  const sizes = await sizesOf(
    git,
    kept.map(({ object }) => object),
  );
  const isLong = (at: number): boolean => (sizes[at] ?? 0) >= LONGEST_POINTER;
  const contents = kept.filter((_, at) => isLong(at));
  const pointers: IndexEntry[] = [];
  const short = kept.filter((_, at) => !isLong(at) && sizes[at] !== 0);
  for await (const [entry, bytes] of readObjects(git, short)) {
    (POINTER.test(bytes.toString("latin1")) ? pointers : contents).push(entry);
  }
  const known = pointers.length === 0 ? new Set<string>() : await objectsOfHead(git);
  const unknown = pointers.filter(({ object }) => !known.has(object));
  return [
    ...contents.map(({ path }) => ({ path, why: AS_CONTENT })),
    ...unknown.map(({ path }) => ({ path, why: WITHOUT_CONTENT })),
  ];
}

const AS_CONTENT =
  "the repository stores files of this name in Git LFS, and this server does not upload to Git LFS";
const WITHOUT_CONTENT =
  "it is a new pointer of Git LFS, and this server does not upload the object that it points to";

/** The changed files that Git LFS tracks; if attributes changed, also other files that it tracks only now. */
async function keptByLfs(
  git: ServerGit,
  index: string,
  changed: readonly IndexEntry[],
): Promise<IndexEntry[]> {
  const now = { GIT_INDEX_FILE: index };
  const files = changed.filter(({ mode }) => mode.startsWith("100"));
  const kept = await withLfs(git, now, files);
  if (!changed.some(({ path }) => posix.basename(path) === ".gitattributes")) return kept;
  const paths = new Set(changed.map(({ path }) => path));
  const others = (await filesOf(git, now)).filter(({ path }) => !paths.has(path));
  const theirs = await withLfs(git, now, others);
  // The index of the last commit still has the old attributes.
  const before = new Set((await withLfs(git, {}, theirs)).map(({ path }) => path));
  return [...kept, ...theirs.filter(({ path }) => !before.has(path))];
}

async function withLfs(
  git: ServerGit,
  env: NodeJS.ProcessEnv,
  entries: readonly IndexEntry[],
): Promise<IndexEntry[]> {
  if (entries.length === 0) return [];
  const input = Buffer.from(entries.map(({ path }) => `${path}\0`).join(""), "utf8");
  const args = ["check-attr", "--cached", "-z", "--stdin", "filter"];
  const { stdout } = await git.run(args, { env, input });
  // Path, attribute and value of each.
  const words = stdout.toString("utf8").split("\0");
  return entries.filter((_, at) => words[at * 3 + 2] === "lfs");
}

async function filesOf(git: ServerGit, env: NodeJS.ProcessEnv): Promise<IndexEntry[]> {
  const { stdout } = await git.run(["ls-files", "--stage", "-z"], { env });
  return stdout
    .toString("utf8")
    .split("\0")
    .flatMap((line) => {
      const [, mode = "", object = "", path = ""] =
        /^(\d+) ([0-9a-f]+) \d\t(.*)$/s.exec(line) ?? [];
      return mode.startsWith("100") ? [{ path, mode, object }] : [];
    });
}

async function objectsOfHead(git: ServerGit): Promise<ReadonlySet<string>> {
  const listed = await git.text(["ls-tree", "-r", "--object-only", "HEAD"]);
  return new Set(listed.split("\n"));
}
