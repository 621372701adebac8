import { lstat, readlink, realpath } from "node:fs/promises";
import { dirname, join, relative, resolve, sep } from "node:path";

import { isGitOwned } from "../../git/git-folder.ts";
import { ACP } from "../../rpc/codes.ts";
import { RpcError } from "../../rpc/rpc-error.ts";

export const FOR_GIT = "what is in a repository's own folder is for git alone";

/** A checked path inside the workspace. */
export interface WorkspacePath {
  /** Absolute, with links not resolved; editors use this path. */
  readonly path: string;
  /** Absolute, with all links resolved. */
  readonly real: string;
  /** Relative to the workspace, for people and models. */
  readonly name: string;
}

/** The folders that an agent may work in. Paths that lead out of them are refused. */
export class Workspace {
  readonly cwd: string;
  readonly roots: readonly string[];
  readonly #own: readonly string[];

  /** `own` are Trunkline's files and folders. They are refused, except a root in or at one of them. */
  constructor(cwd: string, more: readonly string[] = [], own: readonly string[] = []) {
    this.cwd = resolve(cwd);
    this.roots = [this.cwd, ...more.map((folder) => resolve(folder))];
    this.#own = own;
  }

  /** Resolves a path. Throws "Permission denied" (-31701) if it leads outside, directly or by links. */
  async find(path: string): Promise<WorkspacePath> {
    if (path.includes("\0")) throw denied(path, "it contains a null byte");
    if (/^~(?:\/|$)/.test(path)) throw denied(path, "give it relative to the workspace");
    const lexical = resolve(this.cwd, path);
    if (!isInside(lexical, this.roots)) throw denied(path, "it is outside of the workspace");
    const real = await followPath(lexical);
    const roots = await realPaths(this.roots);
    if (!isInside(real, roots)) throw denied(path, "a link on it leads out of the workspace");
    const isOwn = await this.own();
    if (isOwn(real)) throw denied(path, "it belongs to Trunkline itself");
    return { path: lexical, real, name: this.nameOf(lexical) };
  }

  /** Resolves a path to write to. Throws also for git's own files. */
  async findToWrite(path: string): Promise<WorkspacePath> {
    const target = await this.find(path);
    if (isGitOwned(target.path) || isGitOwned(target.real)) throw denied(path, FOR_GIT);
    return target;
  }

  /** Tells of a path without links whether it is one of Trunkline's. */
  async own(): Promise<(real: string) => boolean> {
    const [own, roots] = await Promise.all([realPaths(this.#own), realPaths(this.roots)]);
    return (real) =>
      own.some((one) => {
        const isRoot = (root: string): boolean => isInside(root, [one]) && isInside(real, [root]);
        return isInside(real, [one]) && !roots.some(isRoot);
      });
  }

  nameOf(path: string): string {
    const name = relative(this.cwd, path);
    return name === "" ? "." : name.startsWith("..") ? path : name;
  }
}

function denied(path: string, why: string): RpcError {
  const shown = path.length > 200 ? `${path.slice(0, 200)}…` : path;
  return RpcError.of(ACP.permissionDenied, `'${shown}' may not be used: ${why}`, { path: shown });
}

export function isInside(path: string, roots: readonly string[]): boolean {
  return roots.some((root) => {
    return path === root || path.startsWith(root.endsWith(sep) ? root : root + sep);
  });
}

function realPaths(paths: readonly string[]): Promise<string[]> {
  return Promise.all(paths.map((path) => followPath(path).catch(() => path)));
}

const MOST_LINKS = 40;

/** Resolves links in a path whose last parts may not exist yet. */
export async function followPath(path: string, links = MOST_LINKS): Promise<string> {
  try {
    return await realpath(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT")
      throw denied(path, (error as Error).message);
  }
  const parent = dirname(path);
  if (parent === path) return path;
  const status = await lstat(path).catch(() => undefined);
  const real = await followPath(parent, links);
  const name = path.slice(parent.endsWith(sep) ? parent.length : parent.length + 1);
  if (status?.isSymbolicLink() !== true) return join(real, name);
  // A dangling link: writing to it creates its target, so the target counts.
  if (links <= 0) throw denied(path, "it is a link that leads to itself");
  return followPath(resolve(real, await readlink(path)), links - 1);
}
