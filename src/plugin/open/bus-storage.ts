import { join } from "node:path";

import { TrunklineError } from "../../base/errors.ts";
import { Lazy } from "../../base/lazy.ts";
import { makeFolder } from "../../base/file/path.ts";
import { MarkdownStorage } from "../storage/markdown-storage.ts";
import { serveStorage } from "../storage/serve-storage.ts";
import type { Storage } from "../storage/storage.ts";
import { SqliteStorage } from "../storage/storage-sqlite.ts";

export interface BusStorageOptions {
  readonly data: string;
  /** The folder whose `.projects` holds Markdown. */
  readonly workspace: string;
  readonly report: (event: string, fields: Record<string, unknown>) => void;
}

/** Storage of our own for plugins, opened when it is first asked for. */
export function busStorage({ data, workspace, report }: BusStorageOptions) {
  const markdown = new MarkdownStorage(workspace);
  const sqlite = new Lazy(() => SqliteStorage.open(join(data, "documents.sqlite")));
  const storageFor = (type: string): Storage | Promise<Storage> => {
    if (type === "sqlite") return sqlite.get();
    if (type === "markdown") {
      // The folder is made when something is first stored in it, or looked for.
      makeFolder(workspace, 0o700);
      return markdown;
    }
    const kinds = "'markdown' and 'sqlite' are built in; others come from plugins";
    throw new TrunklineError("not-found", `no plugin provides storage type "${type}": ${kinds}`);
  };
  return {
    handlers: serveStorage({ storageFor, report }),
    [Symbol.asyncDispose]: async () => (await sqlite.opened())?.[Symbol.dispose](),
  };
}
