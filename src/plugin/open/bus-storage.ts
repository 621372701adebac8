import { TrunklineError } from "../../base/errors.ts";
import { makeFolder } from "../../base/file/path.ts";
import type { BusHandlers } from "../../protocol/bus/serve.ts";
import type { Storage } from "../storage/storage.ts";
import { markdownStorage } from "../storage/markdown-storage.ts";
import { serveStorage, type StorageService } from "../storage/serve-storage.ts";

/** Storage of our own for plugins. `workspace` is the folder whose `.projects` holds Markdown. */
export function busStorage(workspace: string, report: StorageService["report"]): BusHandlers {
  const markdown = markdownStorage(workspace);
  const storageFor = (type: string): Storage => {
    if (type !== "markdown") {
      const kinds = "'markdown' is built in; others come from plugins";
      throw new TrunklineError("not-found", `no plugin provides storage type "${type}": ${kinds}`);
    }
    // The folder is made when something is first stored in it, or looked for.
    makeFolder(workspace, 0o700);
    return markdown;
  };
  return serveStorage({ storageFor, report });
}
