import { constants } from "node:fs";
import { copyFile, type FileHandle, mkdir, open, readlink, rm, symlink } from "node:fs/promises";
import { join } from "node:path";

import type { ServerGit } from "../../git/server/server-git.ts";
import { folderBelow, nameIn } from "../open-below.ts";
import { isDisguised } from "./forbidden-name.ts";
import type { ScanLimits, ScanProblem } from "./scan.ts";

/** An index with what has changed in a work tree. */
export interface Staged {
  /** The file of the index, for `GIT_INDEX_FILE`. */
  readonly index: string;
  /** What is not in it, and why. */
  readonly problems: readonly ScanProblem[];
}

/**
 * Submodules are left out by an argument: to the setting, git prefers what `.gitmodules` in the tree
 * says, and would run itself in them, with the filters of their configuration.
 */
const STATUS = [
  ...["status", "--porcelain=v1", "-z", "--no-renames"],
  ...["--untracked-files=all", "--ignore-submodules=all"],
];
const { O_NOFOLLOW, O_NONBLOCK, O_RDONLY } = constants;
const CHUNK = 1 << 20;

/**
 * Puts what has changed into an index of its own. Programs may still change the tree meanwhile, and
 * put links into the place of folders, while we may read more of the machine than they. So files are
 * copied to where nobody else is, no link followed, and git takes the copies.
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
    await copyFile(join(git.gitDir, "index"), index);
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
/** How often adding is tried again without the file that git stopped at. */
const MOST_UNTAKEN = 10;

/** Adds files to an index. Git stops at one that it cannot read as the attributes say. */
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
      problems.push({ path: String(culprit), why: `git cannot take it: ${said}` });
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

/** Copies files of a tree, each as it is at one moment, within limits. */
class Copier implements AsyncDisposable {
  readonly problems: ScanProblem[] = [];
  readonly #tree: string;
  readonly #to: Buffer;
  readonly #limits: ScanLimits;
  #left: number;
  /** The folder of the last file: most files have it in common with the one before. */
  #folder: { readonly path: string; readonly handle: FileHandle } | undefined;

  constructor(tree: string, to: string, limits: ScanLimits) {
    this.#tree = tree;
    this.#to = Buffer.from(`${to}/`);
    this.#limits = limits;
    this.#left = limits.maxTotal;
  }

  /** Whether the file was taken, or is known to be gone. */
  async take(path: Buffer): Promise<boolean> {
    const shown = path.toString("utf8");
    const why = await this.#copy(path).catch((error: NodeJS.ErrnoException) =>
      // Removed, or a folder is in its place or on the way to it.
      GONE.has(error.code) ? undefined : `it cannot be copied: ${error.message}`,
    );
    if (why !== undefined) this.problems.push({ path: shown, why });
    return why === undefined;
  }

  /** Whether all that was read is over the limit. */
  get isFull(): boolean {
    return this.#left < 0;
  }

  async #copy(path: Buffer): Promise<string | undefined> {
    // Git lists a repository in the tree as a folder, and would commit only its name.
    if (path.at(-1) === SLASH) {
      return "it is a git repository of its own: remove its .git, or ignore it";
    }
    if (isDisguised(path.toString("utf8"))) {
      return "some systems would take its name for one that is git's own";
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
      // Git takes no link in its place.
      if (path.equals(SUBMODULES)) return "it is a link";
      const to = await readlink(source, "buffer");
      await mkdir(way, { recursive: true });
      await symlink(to, target);
      return undefined;
    }
    await using _ = file;
    const status = await file.stat();
    if (status.isDirectory()) return undefined;
    if (!status.isFile()) return "it is neither a file nor a link";
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
