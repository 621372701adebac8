import { lstat, readlink, realpath } from "node:fs/promises";
import { dirname, join, relative, resolve, sep } from "node:path";

import { isGitOwned } from "../../git/git-owned.ts";
import { ACP } from "../../rpc/codes.ts";
import { RpcError } from "../../rpc/rpc-error.ts";

export const FOR_GIT = "what is in a repository's own folder is for git alone";

/** A path of the workspace. */
export interface WorkspacePath {
  /** Absolute, by the names that the person uses; editors know files by it. */
  readonly path: string;
  /** Where it is once every link is followed. */
  readonly real: string;
  /** Short, for people and models. */
  readonly name: string;
}

/** The folders that an agent may work in. Whatever leads out of them is refused. */
export class Workspace {
  readonly cwd: string;
  readonly roots: readonly string[];

  constructor(cwd: string, more: readonly string[] = []) {
    this.cwd = resolve(cwd);
    this.roots = [this.cwd, ...more.map((folder) => resolve(folder))];
  }

  /** Throws "Permission denied" (-31701) for a path that is or leads outside, also through links. */
  async find(path: string): Promise<WorkspacePath> {
    if (path.includes("\0")) throw denied(path, "it holds a null byte");
    if (/^~(?:\/|$)/.test(path)) throw denied(path, "write it from the workspace's folder");
    const lexical = resolve(this.cwd, path);
    if (!isInside(lexical, this.roots)) throw denied(path, "it lies outside of the workspace");
    const real = await followPath(lexical);
    const roots = await Promise.all(this.roots.map((root) => realpath(root).catch(() => root)));
    if (!isInside(real, roots)) throw denied(path, "a link on it leads out of the workspace");
    return { path: lexical, real, name: this.nameOf(lexical) };
  }

  /** The same, for a path that is to be written. What git keeps for itself is not. */
  async findToWrite(path: string): Promise<WorkspacePath> {
    const target = await this.find(path);
    if (isGitOwned(target.path) || isGitOwned(target.real)) throw denied(path, FOR_GIT);
    return target;
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

const MOST_LINKS = 40;

/** Where a path leads, though its end may not be there yet. */
export async function followPath(path: string, links = MOST_LINKS): Promise<string> {
  try {
    return await realpath(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw unfit(path, error);
  }
  const parent = dirname(path);
  if (parent === path) return path;
  const status = await lstat(path).catch(() => undefined);
  const real = await followPath(parent, links);
  const name = path.slice(parent.endsWith(sep) ? parent.length : parent.length + 1);
  if (status?.isSymbolicLink() !== true) return join(real, name);
  // It leads to what is not there: to write it is to make that.
  if (links <= 0) throw denied(path, "it is a link that never ends");
  return followPath(resolve(real, await readlink(path)), links - 1);
}

function unfit(path: string, error: unknown): RpcError {
  return denied(path, (error as Error).message);
}
