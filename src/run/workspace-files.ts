import { constants } from "node:fs";
import { type FileHandle, mkdir, open } from "node:fs/promises";
import { relative, sep } from "node:path";

import { overwrite } from "../base/file/overwrite.ts";
import { readRegularFile, UnfitFileError } from "../base/file/read-regular-file.ts";
import { SessionError } from "../session/session-error.ts";
import type { ClientFiles } from "../session/agent.ts";
import { folderBelow, nameIn, openFolder } from "./open-below.ts";
import type { FileOwner } from "./workspace/driver.ts";

const { O_CREAT, O_NOFOLLOW, O_NONBLOCK, O_WRONLY } = constants;
const LARGEST = 10 * 1024 * 1024;

/** The files of a workspace for an agent that asks for them by `fs/*`. No link leads out of them. */
export class WorkspaceFiles implements ClientFiles {
  readonly #tree: string;
  readonly #owner: FileOwner | undefined;

  constructor(tree: string, owner: FileOwner | undefined) {
    this.#tree = tree;
    this.#owner = owner;
  }

  readonly readTextFile = async (
    path: string,
    { line, limit }: { line?: number; limit?: number } = {},
  ): Promise<string> => {
    const text = this.#read(path).toString("utf8");
    if (line === undefined && limit === undefined) return text;
    const from = Math.max(0, (line ?? 1) - 1);
    const lines = text.split(/(?<=\n)/);
    return lines.slice(from, limit === undefined ? undefined : from + limit).join("");
  };

  readonly writeTextFile = async (path: string, content: string): Promise<void> => {
    await using file = await this.#openToWrite(path);
    if (!(await file.stat()).isFile()) throw unfit(path, "it is not a regular file");
    await overwrite(file, content);
  };

  #read(path: string): Buffer {
    this.#stepsTo(path);
    try {
      const limits = { most: LARGEST, followsLinks: false, inside: [this.#tree] };
      const bytes = readRegularFile(path, limits);
      if (bytes !== undefined) return bytes;
    } catch (error) {
      throw explain(error, path);
    }
    throw missing(path);
  }

  /** The folders on the way, and the name of the file. Throws for what is not in the tree, or is git's own. */
  #stepsTo(path: string): string[] {
    const steps = relative(this.#tree, path).split(sep);
    const name = steps.at(-1) ?? "";
    if (steps[0] === ".." || name === ".." || name === "" || name === ".") throw notInTree(path);
    if (steps.some((step) => step.toLowerCase() === ".git")) throw notInTree(path);
    return steps;
  }

  async #openToWrite(path: string): Promise<FileHandle> {
    const steps = this.#stepsTo(path).map((step) => Buffer.from(step));
    const name = steps.pop() ?? Buffer.alloc(0);
    try {
      await using folder = await folderBelow(this.#tree, steps, this.#enterOrMake);
      const flags = O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK;
      const file = await open(nameIn(folder, name), flags, 0o644);
      await this.#give(file);
      return file;
    } catch (error) {
      throw explain(error, path);
    }
  }

  readonly #enterOrMake = async (folder: FileHandle, step: Buffer): Promise<FileHandle> => {
    try {
      return await openFolder(folder, step);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
    }
    await mkdir(nameIn(folder, step), { mode: 0o755 });
    const made = await openFolder(folder, step);
    await this.#give(made);
    return made;
  };

  async #give(file: FileHandle): Promise<void> {
    if (this.#owner !== undefined) await file.chown(this.#owner.uid, this.#owner.gid);
  }
}

function notInTree(path: string): SessionError {
  return new SessionError("permission-denied", `'${path}' is not a file of the workspace`, {
    path,
  });
}

function unfit(path: string, why: string, options?: ErrorOptions): SessionError {
  return new SessionError("permission-denied", `Cannot use '${path}': ${why}`, { path }, options);
}

function missing(path: string, options?: ErrorOptions): SessionError {
  return new SessionError("file-not-found", `There is no file '${path}'`, { path }, options);
}

const LINK = "it leads through a link. Links are not followed: use the path that it leads to";

function explain(error: unknown, path: string): unknown {
  const { code, message } = error as NodeJS.ErrnoException;
  const options = { cause: error };
  if (error instanceof UnfitFileError) {
    if (error.size === undefined) return unfit(path, message, options);
    return new SessionError("file-too-large", `Cannot read '${path}': ${message}`, { path });
  }
  if (code === "ENOENT" || code === "ENOTDIR" || code === "EISDIR") return missing(path, options);
  if (code === "ELOOP") return unfit(path, LINK, options);
  if (code === "EACCES" || code === "EPERM" || code === "EROFS" || code === "ENXIO") {
    return unfit(path, message, options);
  }
  return error;
}
