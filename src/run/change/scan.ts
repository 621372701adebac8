import { posix } from "node:path";
import { TrunklineError } from "../../base/errors.ts";
import { COMMITTED_SECRETS } from "../../base/text/secret-patterns.ts";
import type { ServerGit } from "../../git/server/server-git.ts";

/**
 * The name of a secret that is in the bytes, and was not in the previous bytes. Everybody who fetches
 * a branch can read the secrets on it.
 */
export function findSecret(bytes: Buffer, before?: Buffer): string | undefined {
  const texts = readings(bytes);
  const known = before === undefined ? [] : readings(before);
  const isNew = (secret: string): boolean => !known.some((text) => text.includes(secret));
  const found = COMMITTED_SECRETS.find(([, pattern]) =>
    texts.some((text) => Array.from(text.matchAll(pattern), ([all]) => all).some(isNew)),
  );
  return found?.[0];
}

/** The bytes as text; if they contain zeros, also as UTF-16 of either byte order. */
function readings(bytes: Buffer): readonly string[] {
  const text = bytes.toString("latin1");
  return bytes.includes(0) ? [text, text.replaceAll("\0", "")] : [text];
}

/** Names that often hold secrets. */
export const DENIED_NAMES = [
  ...[".env", ".env.*", ".netrc"],
  ...["*.pem", "*.key", "*.p12", "*.pfx", "id_rsa", "id_ed25519"],
];

/** Decides which names are never committed. In `denied`, `*` matches any text without a slash. */
export function nameJudge(denied: readonly string[]): (path: string) => string | undefined {
  const patterns = denied.map((name) => {
    const text = name.replaceAll(/[.+?^${}()|[\]\\]/g, String.raw`\$&`).replaceAll("*", "[^/]*");
    return new RegExp(`(?:^|/)${text}$`, "i");
  });
  return (path) => {
    if (patterns.some((pattern) => pattern.test(path))) {
      const why = "they often hold secrets, or `remote.scan.deny` lists them";
      return `files of this name are not committed: ${why}`;
    }
    return HIDING.test(path) ? "its name contains invisible characters" : undefined;
  };
}

/** Control characters, and characters that change the direction of text. */
const HIDING = /[\p{Cc}\u202a-\u202e\u2066-\u2069]/u;

/** macOS ignores these characters in names (git's utf8.c, next_hfs_char). */
const IGNORED = /[\u200c-\u200f\u202a-\u202e\u206a-\u206f\ufeff]/gu;

/**
 * Whether Windows or macOS would read a part of a path as `.git` or `.gitmodules`, though Linux does not: other
 * letter case, short names such as `GIT~1`, streams (`.git:x`), and the dots and spaces at the end that
 * Windows drops.
 */
export function isDisguised(path: string): boolean {
  return path.split("/").some((name) => name !== ".gitmodules" && name.split("\\").some(isGitName));
}

/** Whether any system reads a part of a path as `.git` or `.gitmodules`. */
function isGitName(part: string): boolean {
  const [plain = ""] = part.replaceAll(IGNORED, "").toLowerCase().split(":");
  const name = plain.replace(/[. ]+$/, "");
  return (
    name === ".git" || name === ".gitmodules" || /^(?:git~1|gitmod~[1-4]|gi7eba~\d)$/.test(name)
  );
}

/** Bytes of objects that one call of git reads. */
const BATCH = 16 * 1024 * 1024;
/** The longest line that git writes before an object, in bytes. */
const HEADER = 128;

/** The sizes of objects in bytes, in the order of the objects. */
export async function sizesOf(git: ServerGit, objects: readonly string[]): Promise<number[]> {
  if (objects.length === 0) return [];
  const input = `${objects.join("\n")}\n`;
  const listed = await git.text(["cat-file", "--batch-check=%(objectsize)"], { input });
  return listed.split("\n").map(Number);
}

/** Reads the objects of entries, in the order of the entries. */
export async function* readObjects<E extends { readonly object: string }>(
  git: ServerGit,
  entries: readonly E[],
): AsyncGenerator<readonly [E, Buffer]> {
  const objects = entries.map(({ object }) => object);
  const sizes = await sizesOf(git, objects);
  for (let from = 0, to = 0; from < entries.length; from = to) {
    let bytes = 0;
    while (to < entries.length && (to === from || bytes + (sizes[to] ?? 0) < BATCH)) {
      bytes += (sizes[to++] ?? 0) + HEADER;
    }
    const batch = entries.slice(from, to);
    const input = batch.map(({ object }) => `${object}\n`).join("");
    const { stdout } = await git.run(["cat-file", "--batch"], { input, maxOutput: bytes });
    let at = 0;
    for (const entry of batch) {
      const start = stdout.indexOf("\n", at) + 1;
      // git-cat-file(1), "BATCH OUTPUT": `<oid> <type> <size>`, the object, and an end of line.
      const [, size] = / blob (\d+)\n$/.exec(stdout.toString("latin1", at, start)) ?? [];
      if (size === undefined) {
        throw new TrunklineError("unavailable", `Cannot read the object '${entry.object}'.`);
      }
      const end = start + Number(size);
      yield [entry, stdout.subarray(start, end)];
      at = end + 1;
    }
  }
}

/** A file of an index. */
interface IndexEntry {
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
async function lfsProblems(
  git: ServerGit,
  index: string,
  changed: readonly IndexEntry[],
): Promise<ScanProblem[]> {
  const kept = await keptByLfs(git, index, changed);
  const objects = kept.map(({ object }) => object);
  const sizes = await sizesOf(git, objects);
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
  // Path, attribute and value of each. A value may be empty.
  const words = stdout.toString("utf8").split("\0");
  return entries.filter((_, at) => words[at * 3 + 2] === "lfs");
}

async function filesOf(git: ServerGit, env: NodeJS.ProcessEnv): Promise<IndexEntry[]> {
  const lines = await git.list(["ls-files", "--stage", "-z"], { env });
  return lines.flatMap((line) => {
    const [, mode = "", object = "", path = ""] = /^(\d+) ([0-9a-f]+) \d\t(.*)$/s.exec(line) ?? [];
    return mode.startsWith("100") ? [{ path, mode, object }] : [];
  });
}

async function objectsOfHead(git: ServerGit): Promise<ReadonlySet<string>> {
  const listed = await git.text(["ls-tree", "-r", "--object-only", "HEAD"]);
  return new Set(listed.split("\n"));
}

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

export interface ScanResult {
  /** Paths that differ from the last commit. */
  readonly changed: readonly string[];
  readonly problems: readonly ScanProblem[];
}

/** A file that differs from the last commit. */
interface ScannedChange extends IndexEntry {
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
): Promise<ScanResult> {
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
function readRaw(output: string): ScannedChange[] {
  const parts = output.split("\0");
  const changes: ScannedChange[] = [];
  for (let at = 0; at + 1 < parts.length; at += 2) {
    const [, mode = "", before = "", object = ""] = (parts[at] ?? "").split(" ");
    const was = NOTHING.test(before) ? undefined : before;
    changes.push({ path: parts[at + 1] ?? "", mode, object, before: was });
  }
  return changes;
}

async function look(
  git: ServerGit,
  { path, mode, before }: ScannedChange,
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
