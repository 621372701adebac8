import { open, readlink } from "node:fs/promises";
import { constants } from "node:fs";
import { dirname, isAbsolute, join, relative, resolve } from "node:path";

import type { ServerGit } from "../git/server/server-git.ts";

export interface ScanLimits {
  /** Bytes of a file that is added or changed. */
  readonly maxFile: number;
  /** Bytes of all of them together. */
  readonly maxTotal: number;
  readonly maxFiles: number;
  /** Names and paths that are never committed; `*` stands for any text within a name. */
  readonly denied: readonly string[];
}

/** Names that often hold secrets. */
export const DENIED_NAMES = [
  ...[".env", ".env.*", ".netrc"],
  ...["*.pem", "*.key", "*.p12", "*.pfx", "id_rsa", "id_ed25519"],
];

/** Why a change may not be committed, with the file that is the reason. */
export interface ScanProblem {
  readonly path: string;
  readonly why: string;
}

export interface Scan {
  /** Paths that differ from the last commit. */
  readonly changed: readonly string[];
  readonly problems: readonly ScanProblem[];
}

/** Secrets that are known by their looks; what holds one is read by everybody who fetches it. */
const SECRETS: readonly (readonly [name: string, pattern: RegExp])[] = [
  ["a private key", /-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY-----/],
  ["an AWS access key", /\b(?:AKIA|ASIA)[0-9A-Z]{16}\b/],
  ["a GitHub token", /\b(?:gh[pousr]_[A-Za-z0-9]{36,}|github_pat_[A-Za-z0-9_]{50,})\b/],
  ["a GitLab token", /\bglpat-[A-Za-z0-9_-]{20,}\b/],
  ["an Anthropic key", /\bsk-ant-[A-Za-z0-9_-]{32,}\b/],
  ["an OpenAI key", /\bsk-(?:proj-)?[A-Za-z0-9_-]{40,}\b/],
  ["a Slack token", /\bxox[abprs]-[A-Za-z0-9-]{20,}\b/],
  ["a Google key", /\bAIza[0-9A-Za-z_-]{35}\b/],
  ["a token of Trunkline", /\btlk_[A-Za-z0-9_-]{20,}\b/],
];

/** A file as its pointer in Git LFS begins. */
const LFS = /^version https:\/\/git-lfs\.github\.com\/spec\//;
const SCANNED = 2 * 1024 * 1024;

/** Looks at what a turn has changed before any of it is committed. */
export async function scanChanges(git: ServerGit, tree: string, limits: ScanLimits): Promise<Scan> {
  const status = ["status", "--porcelain=v1", "-z", "--untracked-files=all", "--no-renames"];
  const { stdout } = await git.run(status);
  const entries = stdout
    .toString("utf8")
    .split("\0")
    .filter((entry) => entry !== "")
    .map((entry) => ({ isGone: entry.slice(0, 2).includes("D"), path: entry.slice(3) }));
  const problems: ScanProblem[] = [];
  const changed = entries.map(({ path }) => path);
  if (changed.length > limits.maxFiles) {
    const [path = ""] = changed;
    problems.push({
      path,
      why: `it is one of ${changed.length} changed files, over the limit of ${limits.maxFiles}`,
    });
    return { changed, problems };
  }
  const isDenied = denier(limits.denied);
  let total = 0;
  for (const { path, isGone } of entries) {
    if (isGone) continue;
    const why = isDenied(path)
      ? "files of this name are not committed: they often hold secrets"
      : await look(tree, path, limits, (bytes) => (total += bytes));
    if (why !== undefined) problems.push({ path, why });
    if (total > limits.maxTotal) {
      problems.push({ path, why: `all changes together are over ${limits.maxTotal} bytes` });
      break;
    }
  }
  return { changed, problems };
}

async function look(
  tree: string,
  path: string,
  limits: ScanLimits,
  count: (bytes: number) => number,
): Promise<string | undefined> {
  // Git lists a repository in the tree as a folder, and would commit only its name.
  if (path.endsWith("/")) return "it is a git repository of its own: remove its .git, or ignore it";
  const file = join(tree, path);
  let handle;
  try {
    handle = await open(file, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ELOOP") return await lookAtLink(tree, file);
    if (code === "ENOENT") return undefined;
    return `it cannot be read: ${(error as Error).message}`;
  }
  try {
    const status = await handle.stat();
    if (!status.isFile()) return "it is neither a file nor a link";
    count(status.size);
    if (status.size > limits.maxFile) {
      return `it has ${status.size} bytes, over the limit of ${limits.maxFile}`;
    }
    const buffer = Buffer.alloc(Math.min(status.size, SCANNED));
    const { bytesRead } = await handle.read(buffer, 0, buffer.length, 0);
    const text = buffer.subarray(0, bytesRead).toString("latin1");
    if (LFS.test(text)) return undefined;
    const found = SECRETS.find(([, pattern]) => pattern.test(text));
    return found === undefined ? undefined : `it seems to hold ${found[0]}`;
  } finally {
    await handle.close();
  }
}

/** A link out of the repository leads somewhere else on the machine of whoever merges it. */
async function lookAtLink(tree: string, file: string): Promise<string | undefined> {
  const target = await readlink(file);
  const way = relative(tree, resolve(dirname(file), target));
  const leadsOut = isAbsolute(target) || way.startsWith("..");
  const leadsIntoGit = way === ".git" || way.startsWith(".git/");
  if (!leadsOut && !leadsIntoGit) return undefined;
  return `it is a link to '${target}', which is outside of the repository`;
}

function denier(names: readonly string[]): (path: string) => boolean {
  const patterns = names.map((name) => {
    const text = name.replaceAll(/[.+?^${}()|[\]\\]/g, String.raw`\$&`).replaceAll("*", "[^/]*");
    return new RegExp(`(?:^|/)${text}$`, "i");
  });
  return (path) => patterns.some((pattern) => pattern.test(path));
}
