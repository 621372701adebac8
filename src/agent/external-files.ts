import { mkdir } from "node:fs/promises";
import { dirname, resolve } from "node:path";

import { diskWords, fileWords, TrunklineError } from "../base/errors.ts";
import { writeOver } from "../base/file/overwrite.ts";
import { readRegularFile, UnfitFileError } from "../base/file/read-regular-file.ts";
import { isGitOwned } from "../git/git-folder.ts";
import { SessionError } from "../session/session-error.ts";
import { FOR_GIT, followPath, isInside } from "./files/workspace.ts";
import { LARGEST_FILE } from "./files/turn-files.ts";

/** Files of a workspace (ACP file-system), for agents whose editor does not offer them. */
export class ExternalFiles {
  readonly #folders: readonly string[];

  constructor(folders: readonly string[]) {
    this.#folders = folders;
  }

  /** Resolves a path. Throws if it leads out of the workspace, by `..` or by a link. */
  async within(path: string): Promise<string> {
    const real = await followPath(resolve(path));
    const roots = this.#folders.map((folder) => followPath(resolve(folder)));
    if (isInside(real, await Promise.all(roots))) return real;
    const why = `'${path}' is outside of the workspace`;
    throw new SessionError("permission-denied", why, { path });
  }

  /** Resolves a path to write to. Throws also for git's own files. */
  async withinToWrite(path: string): Promise<string> {
    const real = await this.within(path);
    if (!isGitOwned(resolve(path)) && !isGitOwned(real)) return real;
    throw new SessionError("permission-denied", `'${path}' may not be written: ${FOR_GIT}`, {
      path,
    });
  }

  async read(path: string, { line, limit }: { line?: number; limit?: number }): Promise<string> {
    try {
      const bytes = readRegularFile(path, { most: LARGEST_FILE, inside: this.#folders });
      if (bytes === undefined) throw noFile(path);
      const text = bytes.toString("utf8");
      if (line === undefined && limit === undefined) return text;
      const from = Math.max(0, (line ?? 1) - 1);
      const lines = text.split(/(?<=\n)/);
      return lines.slice(from, limit === undefined ? undefined : from + limit).join("");
    } catch (error) {
      throw explain(error, path);
    }
  }

  async write(path: string, content: string): Promise<void> {
    try {
      await mkdir(dirname(path), { recursive: true });
      await writeOver(path, content, this.#folders);
    } catch (error) {
      throw explain(error, path);
    }
  }
}

function noFile(path: string, options?: ErrorOptions): SessionError {
  return new SessionError("file-not-found", `There is no file '${path}'`, { path }, options);
}

function explain(error: unknown, path: string): unknown {
  if (error instanceof SessionError) return error;
  const { code } = error as NodeJS.ErrnoException;
  const options = { cause: error };
  if (error instanceof UnfitFileError) {
    const problem = error.size === undefined ? "permission-denied" : "file-too-large";
    return new SessionError(problem, `Cannot use '${path}': ${error.message}`, { path }, options);
  }
  if (code === "ENOENT" || code === "EISDIR" || code === "ENOTDIR") return noFile(path, options);
  if (code === "EACCES" || code === "EPERM" || code === "EROFS" || code === "ELOOP") {
    return new SessionError("permission-denied", fileWords(error), { path }, options);
  }
  if (diskWords(error) === undefined) return error;
  const says = `Cannot use '${path}': ${fileWords(error, path)}`;
  return new TrunklineError("unavailable", says, options);
}
