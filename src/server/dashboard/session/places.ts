import { basename, join } from "node:path";

import { readRegularFile } from "../../../base/file/read-regular-file.ts";
import { findRepository } from "../../../review/repository.ts";

/** The repository and branch of a session's folder. */
export interface Place {
  readonly repository?: string;
  readonly branch?: string;
}

/** Milliseconds for which a folder is not looked at again. */
const FRESH = 2_000;
const MOST = 1_000;
const LARGEST_HEAD = 4_096;

/** The repositories and branches of folders, read from their files and kept for a moment. */
export class Places {
  readonly #known = new Map<string, { readonly at: number; readonly place: Place }>();

  of(folder: string): Place {
    const known = this.#known.get(folder);
    if (known !== undefined && performance.now() - known.at < FRESH) return known.place;
    const place = read(folder);
    this.#known.delete(folder);
    this.#known.set(folder, { at: performance.now(), place });
    for (const oldest of this.#known.keys()) {
      if (this.#known.size <= MOST) break;
      this.#known.delete(oldest);
    }
    return place;
  }
}

function read(folder: string): Place {
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
