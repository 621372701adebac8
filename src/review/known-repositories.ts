import { lstatSync, type Stats } from "node:fs";

import { findRepository, type FoundRepository } from "./repository.ts";

/** Milliseconds in which a folder may be changed twice without a trace in its times. */
const UNCERTAIN = 2_000;
const MOST = 100;

interface Known {
  readonly repository: FoundRepository;
  /** Its `.git` when it was looked at. */
  readonly stats: Stats;
}

/**
 * Finds the repositories of folders, and remembers those of top folders. Looking for one takes longer
 * than all else that a call does; that it is still the same, its `.git` tells: whatever makes it another
 * repository, or none, creates or removes an entry in that folder, or the folder itself.
 */
export class KnownRepositories {
  readonly #known = new Map<string, Known>();

  /** `folder` is a real path. */
  readonly find = (folder: string): FoundRepository | undefined => {
    const known = this.#known.get(folder);
    const stats = lstatSync(`${folder}/.git`, { throwIfNoEntry: false });
    if (known !== undefined && stats !== undefined && isSame(known.stats, stats)) {
      return known.repository;
    }
    const repository = findRepository(folder);
    this.#known.delete(folder);
    if (stats === undefined || repository === undefined) return repository;
    // The `.git` of another work tree is a file, and says less.
    const isOwn = repository.root === folder && repository.gitDir === `${folder}/.git`;
    const isLasting = isOwn && stats.isDirectory() && Date.now() - stats.ctimeMs > UNCERTAIN;
    if (!isLasting) return repository;
    if (this.#known.size === MOST) this.#known.clear();
    this.#known.set(folder, { repository, stats });
    return repository;
  };
}

function isSame(one: Stats, other: Stats): boolean {
  return (
    one.ino === other.ino &&
    one.dev === other.dev &&
    one.mtimeMs === other.mtimeMs &&
    one.ctimeMs === other.ctimeMs
  );
}
