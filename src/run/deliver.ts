import { constants } from "node:fs";
import { type FileHandle, mkdir, open, readlink, rename, rm, symlink } from "node:fs/promises";
import { join } from "node:path";
import { TrunklineError } from "../base/errors.ts";
import { maskWhole } from "../base/text/mask.ts";
import { copyIndex } from "../git/copy-index.ts";
import { type Author, authorVariables, SESSION_LINE, SESSION_MARK } from "../git/git.ts";
import type { Credentials } from "../git/server/pin-connection.ts";
import type { ServerCall, ServerGit } from "../git/server/server-git.ts";
import { type ScanLimits, type ScanProblem, isDisguised, scanIndex } from "./change/scan.ts";
import { changesIn, isOfFile, withLinks } from "./content/flat-index.ts";
import type { Submodule } from "./content/content.ts";
import { folderBelow, nameIn } from "./open-below.ts";

/** The login of a run at its remote, and the author of its commits. */
export interface RunActor {
  readonly credentials: Credentials;
  readonly author: Author;
  readonly committer?: Author;
  /** Lines at the end of each message, such as `Co-authored-by: …`. */
  readonly trailers?: readonly string[];
}

export interface DeliverOptions extends RunActor {
  readonly git: ServerGit;
  readonly tree: string;
  readonly url: string;
  /** The short name of the branch that is pushed. */
  readonly branch: string;
  readonly session: string;
  readonly limits: ScanLimits;
  /** The submodules of the workspace. */
  readonly submodules?: readonly Submodule[];
  /** Called before commits are pushed. If it fails, they are not pushed. */
  readonly pushing?: (() => Promise<void>) | undefined;
}

/** Remote run guide, "Response: _meta.target field". */
export interface RunTarget {
  readonly url: string;
  readonly branch: string;
  readonly revision: string;
}

/** Lines added to and deleted from a file since work began; 0 for a binary file. */
export interface FileChange {
  readonly path: string;
  readonly added: number;
  readonly removed: number;
}

export type Delivery =
  | { readonly kind: "unchanged" }
  | { readonly kind: "refused"; readonly problems: readonly ScanProblem[] }
  | { readonly kind: "pushed"; readonly target: RunTarget; readonly changes: readonly FileChange[] }
  /** The commit is stored, and pushing can be retried. */
  | { readonly kind: "unpushed"; readonly revision: string; readonly why: Error };

/** The most files that are listed with a branch. */
const MOST_CHANGES = 200;
const PUSH_TIMEOUT = 5 * 60_000;

/** Commits the changes, pushes them, and asks the remote to confirm that they arrived. */
export function delivererFor(options: DeliverOptions) {
  const { git, tree, url, branch, limits, credentials, trailers: more = [] } = options;
  const ref = `refs/heads/${branch}`;
  const login: ServerCall = { remote: { url, credentials }, timeout: PUSH_TIMEOUT };
  const names = authorVariables(options.author, options.committer);
  /** The last commit of the branch in the workspace. */
  const head = () => git.text(["rev-parse", "--verify", ref]);
  /** The last commit that the remote is known to have; undefined until something was pushed. */
  const pushed = () => git.resolve(PUSHED);

  /** Throws "untrusted" or "unavailable" if it will not be possible to push. */
  async function checkPush(revision = "HEAD"): Promise<void> {
    const what = `${revision}:${ref}`;
    const push = ["push", "--quiet", "--dry-run", "--no-verify", "--", url, what];
    await git.run(push, login);
  }

  /** `title` is the first line of the commit's message, and `body` the rest. */
  async function deliver(title: string, body: string): Promise<Delivery> {
    const staged = await stageChanges(git, tree, limits, options);
    const { index, files, problems: unstaged } = staged;
    const { changed, problems: found } = await scanIndex(git, index, limits.denied);
    const problems = [...unstaged, ...found];
    if (problems.length > 0) return { kind: "refused", problems };
    if (changed.length > 0) await commit(index, title, body);
    // The index caches file metadata, so git does not read the files again.
    await rename(files, join(git.gitDir, "index"));
    return await pushKept();
  }

  /** Pushes commits that could not be pushed before. */
  async function pushKept(): Promise<Delivery> {
    const revision = await head();
    const known = (await pushed()) ?? (await git.resolve(BASE));
    if (revision === known) return { kind: "unchanged" };
    try {
      await options.pushing?.();
      await pushFrom(await pushed(), revision);
    } catch (error) {
      const isPushed = await continues(revision).catch(() => false);
      if (!isPushed) return { kind: "unpushed", revision, why: error as Error };
    }
    return { kind: "pushed", target: { url, branch, revision }, changes: await changes() };
  }

  /** Creates the branch, or moves it forward from our last push; never overwrites what others pushed. */
  async function pushFrom(known: string | undefined, revision: string): Promise<void> {
    const lease = `--force-with-lease=${ref}:${known ?? ""}`;
    const push = ["push", "--quiet", "--no-verify", lease, "--", url, `${revision}:${ref}`];
    await git.run(push, login);
    const seen = await onRemote();
    if (seen !== revision) {
      const what = seen === undefined ? "is not there" : `is at ${seen}`;
      const why = `branch '${branch}' ${what} after it was pushed`;
      throw new TrunklineError("unavailable", `Cannot push to '${url}': ${why}.`);
    }
    await git.run(["update-ref", PUSHED, revision]);
  }

  /**
   * A process that was killed may have pushed a commit without recording it. Then the remote branch is
   * at a commit of ours, which we record now.
   */
  async function continues(revision: string): Promise<boolean> {
    const seen = await onRemote();
    if (seen === undefined || seen === (await pushed())) return false;
    const ours = await git.text(["rev-list", revision, `^${BASE}`]);
    if (!ours.split("\n").includes(seen)) return false;
    await git.run(["update-ref", PUSHED, seen]);
    if (seen !== revision) await pushFrom(seen, revision);
    return true;
  }

  /** Stores the current files, except those over a limit, in a commit that is not on the branch. */
  async function checkpoint(): Promise<void> {
    const { index } = await stageChanges(git, tree, limits, options, "checkpoint");
    const env = { ...names, GIT_INDEX_FILE: index };
    const files = await git.text(["write-tree"], { env });
    const stored = await git.text(["commit-tree", files, "-p", ref, "-m", "Checkpoint"], { env });
    await git.run(["update-ref", CHECKPOINT, stored], { env });
  }

  /** Records the commit that work began with. */
  async function begin(revision: string): Promise<void> {
    await git.run(["update-ref", BASE, revision]);
  }

  /** The changes of the branch, up to the limit. */
  async function changes(): Promise<FileChange[]> {
    const lines = await git.list(["diff", "--numstat", "-z", "--no-renames", BASE, ref]);
    return lines.slice(0, MOST_CHANGES).map((line) => {
      const [added, removed, ...path] = line.split("\t");
      return { path: path.join("\t"), added: Number(added) || 0, removed: Number(removed) || 0 };
    });
  }

  async function commit(index: string, title: string, body: string): Promise<void> {
    const env = { ...names, GIT_INDEX_FILE: index };
    const { session } = options;
    const lines = [SESSION_LINE, ...more].map((line) => line.replaceAll(SESSION_MARK, session));
    const trailers = [...new Set(lines)].join("\n");
    const input = [maskWhole(title), maskWhole(body), trailers].filter(Boolean).join("\n\n");
    const files = await git.text(["write-tree"], { env });
    const parent = await head();
    // Plumbing commands only: they run no hook, no editor and no program that a repository configures.
    const made = await git.text(["commit-tree", files, "-p", parent], { env, input });
    await git.run(["update-ref", ref, made, parent], { env });
  }

  async function onRemote(): Promise<string | undefined> {
    const listed = await git.text(["ls-remote", "--", url, ref], login);
    return /^([0-9a-f]+)\t/.exec(listed)?.[1];
  }

  return { head, pushed, checkPush, deliver, pushKept, checkpoint, begin };
}

export type Deliverer = ReturnType<typeof delivererFor>;

/** Our own refs in the git folder of a workspace. They are never pushed. */
export const BASE = "refs/trunkline/base";
export const PUSHED = "refs/trunkline/pushed";
export const CHECKPOINT = "refs/trunkline/checkpoint";

/** An index with the changes of a work tree. */
interface StagedChanges {
  /** The path of the index, for `GIT_INDEX_FILE`. */
  readonly index: string;
  /** The same with the files of submodules: the next index of the workspace. */
  readonly files: string;
  /** The changes that are not in it, and why. */
  readonly problems: readonly ScanProblem[];
}

/**
 * An argument leaves submodules out. A setting would not: `.gitmodules` in the tree overrides it, and git
 * would then run in the submodules, with the filters of their configuration.
 */
const STATUS = [
  ...["status", "--porcelain=v1", "-z", "--no-renames"],
  ...["--untracked-files=all", "--ignore-submodules=all"],
];
const { O_NOFOLLOW, O_NONBLOCK, O_RDONLY } = constants;
const CHUNK = 1 << 20;

/**
 * Puts the changes into an index of their own. Programs of the agent may still change the tree, and
 * replace folders by links to files that only we may read. So files are first copied to a folder that only
 * we can write to, without following links, and git reads the copies.
 */
export async function stageChanges(
  git: ServerGit,
  tree: string,
  limits: ScanLimits,
  { submodules = [] }: Pick<DeliverOptions, "submodules"> = {},
  name = "staged",
): Promise<StagedChanges> {
  const files = join(git.gitDir, `${name}-index`);
  const index = submodules.length === 0 ? files : `${files}-linked`;
  const copies = join(git.gitDir, `${name}-files`);
  const env = { GIT_INDEX_FILE: files };
  await rm(copies, { recursive: true, force: true });
  await mkdir(copies, { mode: 0o700 });
  await using ends = new AsyncDisposableStack();
  ends.defer(() => rm(copies, { recursive: true, force: true }));
  await copyIndex(join(git.gitDir, "index"), files);
  const { stdout } = await git.run(STATUS, { env });
  const changed = lines(stdout).filter(isOfFile);
  const inside = await changesIn(git, env, tree, submodules, changed);
  const { taken: paths } = inside;
  await using copier = new Copier(tree, copies, limits);
  const taken: Buffer[] = [];
  for (const path of paths.slice(0, limits.maxFiles)) {
    if (await copier.take(path)) taken.push(path);
    if (copier.isFull) break;
  }
  const problems = [...inside.problems, ...copier.problems];
  if (paths.length > limits.maxFiles) {
    const why = `it is one of ${paths.length} changed files, over the limit of ${limits.maxFiles}`;
    problems.push({ path: String(paths[limits.maxFiles]), why });
  }
  problems.push(...(await addTo(git.on(copies), env, taken)));
  if (index !== files) await copyIndex(files, index);
  await withLinks(git, index, inside.kept);
  return { index, files, problems };
}

const END = Buffer.from([0]);
/** How many files git may fail at: adding is retried without each of them. */
const MOST_UNTAKEN = 10;

/** Adds files to an index. Git stops at a file that it cannot convert as its attributes say. */
async function addTo(
  git: ServerGit,
  env: NodeJS.ProcessEnv,
  paths: readonly Buffer[],
): Promise<ScanProblem[]> {
  const problems: ScanProblem[] = [];
  let left = paths;
  while (left.length > 0) {
    const input = Buffer.concat(left.flatMap((path) => [path, END]));
    const args = ["update-index", "--add", "--remove", "--replace", "-z", "--stdin"];
    try {
      await git.run(args, { env, input });
      break;
    } catch (error) {
      const { message } = error as Error;
      const culprit = left.find((path) => message.includes(`'${String(path)}'`));
      if (culprit === undefined || problems.length === MOST_UNTAKEN) throw error;
      const said = message.replace(/^'.*?': /, "");
      problems.push({ path: String(culprit), why: `git cannot add it: ${said}` });
      left = left.filter((path) => path !== culprit);
    }
  }
  return problems;
}

function lines(output: Buffer): Buffer[] {
  const found: Buffer[] = [];
  for (let from = 0, end = 0; (end = output.indexOf(0, from)) >= 0; from = end + 1) {
    found.push(output.subarray(from, end));
  }
  return found;
}

/** Copies files of a tree, up to limits. */
class Copier implements AsyncDisposable {
  readonly problems: ScanProblem[] = [];
  readonly #tree: string;
  readonly #to: Buffer;
  readonly #limits: ScanLimits;
  #left: number;
  /** The folder of the previous file, kept open because the next file is mostly in the same one. */
  #folder: { readonly path: string; readonly handle: FileHandle } | undefined;

  constructor(tree: string, to: string, limits: ScanLimits) {
    this.#tree = tree;
    this.#to = Buffer.from(`${to}/`);
    this.#limits = limits;
    this.#left = limits.maxTotal;
  }

  /** Copies a file. True if it was copied, or was deleted. */
  async take(path: Buffer): Promise<boolean> {
    const shown = path.toString("utf8");
    const why = await this.#copy(path).catch((error: NodeJS.ErrnoException) =>
      // It was deleted, or a folder or a file has replaced a part of its path.
      GONE.has(error.code) ? undefined : `it cannot be copied: ${error.message}`,
    );
    if (why !== undefined) this.problems.push({ path: shown, why });
    return why === undefined;
  }

  /** Whether the files together are over the limit. */
  get isFull(): boolean {
    return this.#left < 0;
  }

  async #copy(path: Buffer): Promise<string | undefined> {
    // Git lists a repository in the tree as a folder, and would commit only its name.
    if (path.at(-1) === SLASH) {
      return "it is a git repository of its own: remove its .git, or add it to .gitignore";
    }
    if (isDisguised(path.toString("utf8"))) {
      return "Windows or macOS would read its name as `.git` or `.gitmodules`";
    }
    const slash = path.lastIndexOf(SLASH);
    const folder = await this.#enter(path.subarray(0, Math.max(0, slash)));
    const source = nameIn(folder, path.subarray(slash + 1));
    const target = Buffer.concat([this.#to, path]);
    const way = target.subarray(0, target.lastIndexOf(SLASH));
    let file: FileHandle;
    try {
      file = await open(source, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ELOOP") throw error;
      // Git refuses a link at this path.
      if (path.equals(SUBMODULES)) return "it is a link";
      const to = await readlink(source, "buffer");
      await mkdir(way, { recursive: true });
      await symlink(to, target);
      return undefined;
    }
    await using _ = file;
    const status = await file.stat();
    if (status.isDirectory()) return undefined;
    if (!status.isFile()) return "it is neither a regular file nor a link";
    await mkdir(way, { recursive: true });
    const mode = (status.mode & 0o100) === 0 ? 0o644 : 0o755;
    await using copy = await open(target, "wx", mode);
    return await this.#pour(file, copy, status.size);
  }

  async #pour(file: FileHandle, copy: FileHandle, size: number): Promise<string | undefined> {
    const { maxFile, maxTotal } = this.#limits;
    const tooLarge = (bytes: number): string =>
      `it has ${bytes} bytes, over the limit of ${maxFile}`;
    if (size > maxFile) return tooLarge(size);
    const chunk = Buffer.allocUnsafe(Math.min(CHUNK, size + 1));
    for (let at = 0; ;) {
      const { bytesRead } = await file.read(chunk, 0, chunk.length, at);
      if (bytesRead === 0) return undefined;
      at += bytesRead;
      this.#left -= bytesRead;
      if (at > maxFile) return tooLarge(at);
      if (this.#left < 0) return `all changes together are over ${maxTotal} bytes`;
      await copy.write(chunk, 0, bytesRead);
    }
  }

  async #enter(path: Buffer): Promise<FileHandle> {
    const key = path.toString("latin1");
    if (this.#folder?.path === key) return this.#folder.handle;
    await this.#folder?.handle.close();
    this.#folder = undefined;
    const steps = key === "" ? [] : key.split("/").map((step) => Buffer.from(step, "latin1"));
    this.#folder = { path: key, handle: await folderBelow(this.#tree, steps) };
    return this.#folder.handle;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#folder?.handle.close();
  }
}

const SLASH = 0x2f;
const SUBMODULES = Buffer.from(".gitmodules");
const GONE: ReadonlySet<string | undefined> = new Set(["ENOENT", "ENOTDIR", "ELOOP"]);
