import { basename, join } from "node:path";

import { readRegularFile } from "../../../base/file/read-regular-file.ts";
import { findRepository } from "../../../review/repository.ts";

interface Place {
  readonly repository?: string;
  readonly branch?: string;
}

const LARGEST_HEAD = 4_096;

/** Reads the repository and the branch of a folder from its files. */
export function placeOf(folder: string): Place {
  try {
    const found = findRepository(folder);
    if (found === undefined) return {};
    const repository = basename(found.root);
    const head = readRegularFile(join(found.worktreeGitDir, "HEAD"), { most: LARGEST_HEAD });
    const [, branch] = /^ref: refs\/heads\/(.+)$/m.exec(head?.toString("utf8") ?? "") ?? [];
    return { repository, ...(branch === undefined ? {} : { branch }) };
  } catch {
    // A folder that cannot be read has no repository to show.
    return {};
  }
}
