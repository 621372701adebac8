import { constants, type Stats } from "node:fs";
import { type FileHandle, mkdir, open } from "node:fs/promises";
import { relative, sep } from "node:path";

import { overwrite } from "../base/file/overwrite.ts";
import { SessionError } from "../session/session-error.ts";
import type { ClientFiles } from "../session/agent.ts";
import { folderBelow, nameIn, openFolder } from "./open-below.ts";
import type { FileOwner } from "./workspace/driver.ts";

const { O_CREAT, O_NOFOLLOW, O_NONBLOCK, O_RDONLY, O_WRONLY } = constants;
const LARGEST = 10 * 1024 * 1024;

/** The files of a workspace for an agent that asks for them by `fs/*`. No link is followed. */
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
    await using file = await this.#open(path, O_RDONLY);
    const { size } = await regular(file, path);
    if (size > LARGEST) {
      const why = `'${path}' has ${size} bytes, over the limit of ${LARGEST}`;
      throw new SessionError("file-too-large", why, { path });
    }
    const text = await file.readFile("utf8");
    if (line === undefined && limit === undefined) return text;
    const from = Math.max(0, (line ?? 1) - 1);
    const lines = text.split(/(?<=\n)/);
    return lines.slice(from, limit === undefined ? undefined : from + limit).join("");
  };

  readonly writeTextFile = async (path: string, content: string): Promise<void> => {
    await using file = await this.#open(path, O_WRONLY | O_CREAT);
    await regular(file, path);
    await overwrite(file, content);
  };

  async #open(path: string, flags: number): Promise<FileHandle> {
    const steps = relative(this.#tree, path).split(sep);
    const name = steps.pop() ?? "";
    if (steps[0] === ".." || name === ".." || name === "" || name === ".") throw outside(path);
    // An agent must not change git's own files.
    if ([...steps, name].some((step) => step.toLowerCase() === ".git")) throw outside(path);
    const isWriting = (flags & O_CREAT) !== 0;
    const way = steps.map((step) => Buffer.from(step));
    const enter = isWriting ? this.#enterOrMake : openFolder;
    try {
      await using folder = await folderBelow(this.#tree, way, enter);
      const path = nameIn(folder, Buffer.from(name));
      const file = await open(path, flags | O_NOFOLLOW | O_NONBLOCK, 0o644);
      if (isWriting) await this.#give(file);
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

async function regular(file: FileHandle, path: string): Promise<Stats> {
  const status = await file.stat();
  if (status.isFile()) return status;
  throw new SessionError("permission-denied", `'${path}' is not a regular file`, { path });
}

function outside(path: string): SessionError {
  const why = `'${path}' is not a file of the workspace`;
  return new SessionError("permission-denied", why, { path });
}

function explain(error: unknown, path: string): unknown {
  const { code, message } = error as NodeJS.ErrnoException;
  const options = { cause: error };
  if (code === "ENOENT" || code === "ENOTDIR" || code === "EISDIR") {
    return new SessionError("file-not-found", `There is no file '${path}'`, { path }, options);
  }
  if (code === "ELOOP") {
    const why = `'${path}' leads through a link. Links are not followed: use the path that it leads to`;
    return new SessionError("permission-denied", why, { path }, options);
  }
  if (code === "EACCES" || code === "EPERM" || code === "EROFS" || code === "ENXIO") {
    return new SessionError("permission-denied", message, { path }, options);
  }
  return error;
}
