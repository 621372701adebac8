import { existsSync, statSync } from "node:fs";
import { opendir } from "node:fs/promises";
import { join } from "node:path";

import { TrunklineError } from "../../../base/errors.ts";
import { realPath } from "../../../base/file/path.ts";
import { leadsInside } from "../../../base/file/read-regular-file.ts";
import type { FolderPage } from "../session-api.ts";

/** Entries of a folder that are looked at, and folders that are listed. */
const MOST_ENTRIES = 20_000;
const MOST_FOLDERS = 500;

/**
 * Lists the folders in a folder, without hidden ones and links: those could lead anywhere. Throws if the
 * folder is not in one of `inside`, where that is given.
 */
export async function listFolder(
  path: string,
  inside: readonly string[] | undefined,
): Promise<Pick<FolderPage, "path" | "folders" | "isCut">> {
  const real = realPath(path);
  const opened = statSync(real, { throwIfNoEntry: false });
  if (opened === undefined) throw unlisted(path, "there is no such folder");
  if (!opened.isDirectory()) throw unlisted(path, "it is not a folder");
  const names: string[] = [];
  let seen = 0;
  try {
    for await (const entry of await opendir(real)) {
      if (seen++ === MOST_ENTRIES) break;
      if (entry.isDirectory() && !entry.name.startsWith(".")) names.push(entry.name);
    }
  } catch (error) {
    const { code = "it cannot be read" } = error as NodeJS.ErrnoException;
    throw unlisted(path, code === "EACCES" ? "you may not read it" : code);
  }
  // Programs may replace a folder by a link at any moment, so it is compared after it was read.
  if (inside !== undefined && !leadsInside(real, opened, inside)) {
    throw unlisted(path, "it is not in a folder that this token may use");
  }
  const folders = names
    .toSorted()
    .slice(0, MOST_FOLDERS)
    // Only those: to compare 20,000 names as people do would keep others waiting.
    .toSorted((a, b) => a.localeCompare(b))
    .map((name) => ({ name, path: join(real, name), isRepository: isRepository(real, name) }));
  const isCut = seen > MOST_ENTRIES || names.length > folders.length;
  return { path: real, folders, isCut };
}

function isRepository(folder: string, name: string): boolean {
  return existsSync(join(folder, name, ".git"));
}

function unlisted(path: string, why: string): TrunklineError {
  return new TrunklineError("not-found", `Cannot list '${path.slice(0, 200)}': ${why}.`);
}
