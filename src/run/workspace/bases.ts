import { existsSync } from "node:fs";
import { mkdir, readdir, rename, rm, stat, utimes } from "node:fs/promises";
import { join } from "node:path";

import { type CachedRepository, removeUnfinished, unfinishedName } from "../repository-cache.ts";

export interface BasesOptions {
  readonly folder: string;
  /** How many are kept for a repository, in addition to those in use. */
  readonly most: number;
}

/** A checked-out tree that workspaces begin with. */
export interface Base {
  readonly revision: string;
  readonly tree: string;
  /** The git index of that tree, with cached file metadata. */
  readonly index: string;
}

const CHECKOUT_TIMEOUT = 10 * 60_000;

/** Checked-out revisions of repositories, which are never changed; the most recently used are kept. */
export class Bases {
  readonly #options: BasesOptions;
  readonly #making = new Map<string, Promise<Base>>();

  constructor(options: BasesOptions) {
    this.#options = options;
  }

  /**
   * The tree of a revision: exactly that one, or one of the same repository that git can update
   * quickly, or a new one.
   */
  async near(repository: CachedRepository, revision: string): Promise<Base> {
    const folder = join(this.#options.folder, repository.key);
    const exact = baseIn(folder, revision);
    const found = existsSync(exact.tree) ? exact : await this.#latest(folder);
    if (found === undefined) return await this.#make(repository, folder, revision);
    const now = new Date();
    await utimes(join(folder, found.revision), now, now).catch(() => {});
    return found;
  }

  /** The base that a workspace began with; it is created again if it was removed. */
  async exactly(repository: CachedRepository, revision: string): Promise<Base> {
    const folder = join(this.#options.folder, repository.key);
    const base = baseIn(folder, revision);
    return existsSync(base.tree) ? base : await this.#make(repository, folder, revision);
  }

  /** Removes the least recently used bases. */
  async prune(repository: CachedRepository, inUse: ReadonlySet<string | undefined>): Promise<void> {
    const folder = join(this.#options.folder, repository.key);
    const free = (await byAge(folder)).filter((revision) => !inUse.has(revision));
    for (const revision of free.slice(this.#options.most)) {
      const gone = join(folder, unfinishedName(`gone-${revision}`));
      await rename(join(folder, revision), gone);
      await rm(gone, { recursive: true, force: true });
    }
  }

  /** Removes unfinished bases of killed processes. */
  async sweep(): Promise<void> {
    const { folder } = this.#options;
    for (const name of await readdir(folder).catch(() => [])) {
      await removeUnfinished(join(folder, name));
    }
  }

  async #latest(folder: string): Promise<Base | undefined> {
    const [revision] = await byAge(folder);
    return revision === undefined ? undefined : baseIn(folder, revision);
  }

  #make(repository: CachedRepository, folder: string, revision: string): Promise<Base> {
    const key = join(folder, revision);
    const making =
      this.#making.get(key) ??
      checkOut(repository, folder, revision).finally(() => this.#making.delete(key));
    this.#making.set(key, making);
    return making;
  }
}

async function checkOut(
  repository: CachedRepository,
  folder: string,
  revision: string,
): Promise<Base> {
  const unfinished = join(folder, unfinishedName(revision));
  await rm(unfinished, { recursive: true, force: true });
  await mkdir(join(unfinished, "tree"), { recursive: true, mode: 0o755 });
  try {
    await repository.git.on(join(unfinished, "tree")).run(["read-tree", "-m", "-u", revision], {
      env: { GIT_INDEX_FILE: join(unfinished, "index") },
      timeout: CHECKOUT_TIMEOUT,
    });
    await rename(unfinished, join(folder, revision)).catch((error: NodeJS.ErrnoException) => {
      // Another process has created it first.
      if (error.code !== "ENOTEMPTY" && error.code !== "EEXIST") throw error;
    });
  } finally {
    await rm(unfinished, { recursive: true, force: true });
  }
  return baseIn(folder, revision);
}

function baseIn(folder: string, revision: string): Base {
  const own = join(folder, revision);
  return { revision, tree: join(own, "tree"), index: join(own, "index") };
}

/** Revisions, the most recently used first. */
async function byAge(folder: string): Promise<string[]> {
  const names = await readdir(folder).catch(() => []);
  const revisions = names.filter((name) => /^[0-9a-f]{40,64}$/.test(name));
  const used = await Promise.all(
    revisions.map(async (revision) => {
      const status = await stat(join(folder, revision)).catch(() => undefined);
      return { revision, at: status?.mtimeMs ?? 0 };
    }),
  );
  return used.toSorted((one, other) => other.at - one.at).map(({ revision }) => revision);
}
