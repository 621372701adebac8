import { constants } from "node:fs";
import { type FileHandle, mkdir, open } from "node:fs/promises";
import { relative, sep } from "node:path";

import { overwrite } from "../base/file/overwrite.ts";
import { readRegularFile, UnfitFileError } from "../base/file/read-regular-file.ts";
import { SessionError } from "../session/session-error.ts";
import type { ClientFiles } from "../session/agent.ts";
import { fileProblem, linesOf, noFile } from "../session/text-file.ts";
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
    range: { line?: number; limit?: number } = {},
  ): Promise<string> => {
    this.#stepsTo(path);
    try {
      const limits = { most: LARGEST, followsLinks: false, inside: [this.#tree] };
      const bytes = readRegularFile(path, limits);
      if (bytes === undefined) throw noFile(path);
      return linesOf(bytes.toString("utf8"), range);
    } catch (error) {
      throw fileProblem(error, path);
    }
  };

  readonly writeTextFile = async (path: string, content: string): Promise<void> => {
    await using file = await this.#openToWrite(path);
    if (!(await file.stat()).isFile()) {
      throw fileProblem(new UnfitFileError("it is not a regular file"), path);
    }
    await overwrite(file, content);
  };

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
      throw fileProblem(error, path);
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
