import { constants } from "node:fs";
import { type FileHandle, mkdir, open, readlink, rm, symlink } from "node:fs/promises";
import { join } from "node:path";

import { copyIndex } from "../../git/copy-index.ts";
import type { ServerGit } from "../../git/server/server-git.ts";
import { folderBelow, nameIn } from "../open-below.ts";
import { isDisguised, type ScanLimits, type ScanProblem } from "./scan.ts";

/** An index with the changes of a work tree. */
export interface Staged {
  /** The path of the index, for `GIT_INDEX_FILE`. */
  readonly index: string;
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
  name = "staged",
): Promise<Staged> {
  const index = join(git.gitDir, `${name}-index`);
  const copies = join(git.gitDir, `${name}-files`);
  const env = { GIT_INDEX_FILE: index };
  await rm(copies, { recursive: true, force: true });
  await mkdir(copies, { mode: 0o700 });
  try {
    await copyIndex(join(git.gitDir, "index"), index);
    const { stdout } = await git.run(STATUS, { env });
    const paths = lines(stdout).map((line) => line.subarray("XY ".length));
    await using copier = new Copier(tree, copies, limits);
    const taken: Buffer[] = [];
    for (const path of paths.slice(0, limits.maxFiles)) {
      if (await copier.take(path)) taken.push(path);
      if (copier.isFull) break;
    }
    const { problems } = copier;
    if (paths.length > limits.maxFiles) {
      const why = `it is one of ${paths.length} changed files, over the limit of ${limits.maxFiles}`;
      problems.push({ path: String(paths[limits.maxFiles]), why });
    }
    problems.push(...(await addTo(git.on(copies), env, taken)));
    return { index, problems };
  } finally {
    await rm(copies, { recursive: true, force: true });
  }
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
