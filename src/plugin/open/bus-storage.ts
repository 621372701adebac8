import { join } from "node:path";

import { TrunklineError } from "../../base/errors.ts";
import { Lazy } from "../../base/lazy.ts";
import { makeFolder } from "../../base/file/path.ts";
import { MarkdownStorage } from "../storage/markdown-storage.ts";
import { serveStorage } from "../storage/serve-storage.ts";
import type { Storage } from "../storage/storage.ts";
import { SqliteStorage } from "../storage/storage-sqlite.ts";
import type { BusHandlers } from "../../protocol/bus/serve.ts";

export interface BusStorageOptions {
  readonly data: string;
  /** The folder whose `.projects` holds Markdown. */
  readonly workspace: string;
  readonly report: (event: string, fields: Record<string, unknown>) => void;
}

/** Storage of our own for plugins, opened when it is first asked for. */
export class BusStorage implements AsyncDisposable {
  readonly handlers: BusHandlers;
  readonly #options: BusStorageOptions;
  readonly #markdown: MarkdownStorage;
  readonly #sqlite: Lazy<SqliteStorage>;

  constructor(options: BusStorageOptions) {
    this.#options = options;
    this.#markdown = new MarkdownStorage(options.workspace);
    this.#sqlite = new Lazy(() => SqliteStorage.open(join(options.data, "documents.sqlite")));
    const { report } = options;
    this.handlers = serveStorage({ storageFor: (type) => this.#storageFor(type), report });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    (await this.#sqlite.opened())?.[Symbol.dispose]();
  }

  /** The folder is made when something is first stored in it, or looked for. */
  async #workspace(): Promise<Storage> {
    makeFolder(this.#options.workspace, 0o700);
    return this.#markdown;
  }

  #storageFor(type: string): Storage | Promise<Storage> {
    switch (type) {
      case "markdown":
        return this.#workspace();
      case "sqlite":
        return this.#sqlite.get();
      default: {
        const kinds = "'markdown' and 'sqlite' are built in; others come from plugins";
        throw new TrunklineError(
          "not-found",
          `no plugin provides storage type "${type}": ${kinds}`,
        );
      }
    }
  }
}
