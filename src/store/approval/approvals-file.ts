import { type FSWatcher, watch } from "node:fs";
import { readFile } from "node:fs/promises";
import { basename } from "node:path";

import { fileWords, TrunklineError } from "../../base/errors.ts";
import { makeFolder } from "../../base/file/path.ts";
import { type Approval, isApproval, keyOf } from "./approval.ts";
import { approvalsPath } from "../store-files.ts";
import { replaceFile, withLock } from "../replace-file.ts";

/** Milliseconds to wait after a change, since one write causes several events. */
const SETTLE = 20;
/** Milliseconds between polls, where the system cannot watch files. */
const LOOK_EVERY = 900;

/** The file with the approvals, which several processes read and write. */
export class ApprovalsFile {
  readonly path: string;
  readonly #folder: string;
  #watcher: FSWatcher | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(folder: string) {
    this.#folder = folder;
    this.path = approvalsPath(folder);
  }

  async read(): Promise<Map<string, Approval>> {
    let text: string;
    try {
      text = await readFile(this.path, "utf8");
    } catch (error) {
      const { code, message } = error as NodeJS.ErrnoException;
      if (code === "ENOENT" || code === "ENOTDIR") return new Map();
      throw this.#broken(message, error);
    }
    let value: { tools?: unknown };
    try {
      value = JSON.parse(text) as { tools?: unknown };
    } catch (error) {
      throw this.#broken("it is not JSON", error);
    }
    const { tools } = value ?? {};
    if (!Array.isArray(tools) || !tools.every(isApproval))
      throw this.#broken("it has no list of tools");
    return new Map(tools.map((tool) => [keyOf(tool.server, tool.name), tool]));
  }

  /** Changes the file under its lock. Resolves to its new content. */
  async update(change: (all: Map<string, Approval>) => void): Promise<Map<string, Approval>> {
    try {
      makeFolder(this.#folder, 0o700);
    } catch (error) {
      const says = `Cannot write '${this.path}': ${fileWords(error, this.path)}`;
      throw new TrunklineError("config", says, { cause: error });
    }
    return withLock(`${this.path}.lock`, async () => {
      const all = await this.read();
      change(all);
      const tools = [...all].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, tool]) => tool);
      await replaceFile(this.path, `${JSON.stringify({ tools }, null, 2)}\n`);
      return all;
    });
  }

  /** Calls back when the file has changed, until `unwatch`. Does not keep the process alive. */
  watch(changed: (read: Promise<Map<string, Approval>>) => void): void {
    let settle: NodeJS.Timeout | undefined;
    const look = (): void => {
      settle ??= setTimeout(() => {
        settle = undefined;
        if (this.#watcher !== undefined || this.#timer !== undefined) changed(this.read());
      }, SETTLE).unref();
    };
    const poll = (): void => {
      this.#watcher?.close();
      this.#watcher = undefined;
      this.#timer = setInterval(look, LOOK_EVERY).unref();
    };
    try {
      makeFolder(this.#folder, 0o700);
      const own = basename(this.path);
      // Watches the folder, since each write replaces the file.
      this.#watcher = watch(this.#folder, { persistent: false }, (_, name) => {
        if (name === null || name === own) look();
      });
      this.#watcher.on("error", poll);
    } catch {
      poll();
    }
  }

  unwatch(): void {
    this.#watcher?.close();
    this.#watcher = undefined;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  #broken(why: string, cause?: unknown): TrunklineError {
    const next =
      "Repair it, or delete it: then the tools of all servers count as seen for the first time.";
    return new TrunklineError("config", `Cannot read '${this.path}': ${why}. ${next}`, { cause });
  }
}
