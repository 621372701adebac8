import { existsSync, readFileSync } from "node:fs";
import { mkdir, readdir, rename, rm, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";

import { TrunklineError } from "../../base/errors.ts";
import { type RevisionContent, lfsFolders, nameOfFiles, PLAIN } from "../content/content.ts";
import { flatten } from "../content/flat-index.ts";
import {
  byLastUse,
  type CachedRepository,
  removeUnfinished,
  unfinishedName,
} from "../repository-cache.ts";

export interface BasesOptions {
  readonly folder: string;
  /** How many are kept for a repository, in addition to those in use. */
  readonly most: number;
}

/** A checked-out tree that workspaces begin with. */
export interface WorkspaceBase {
  /** See `nameOfFiles`. */
  readonly name: string;
  readonly revision: string;
  readonly content: RevisionContent;
  readonly tree: string;
  /** The git index of that tree, with cached file metadata. */
  readonly index: string;
}

const CHECKOUT_TIMEOUT = 10 * 60_000;

/** Checked-out revisions of repositories, which are never changed; the most recently used are kept. */
export class WorkspaceBases {
  readonly #options: BasesOptions;
  readonly #making = new Map<string, Promise<WorkspaceBase>>();

  constructor(options: BasesOptions) {
    this.#options = options;
  }

  /**
   * The tree of a revision: exactly that one, or one of the same repository that git can update
   * quickly, or a new one.
   */
  async near(
    repository: CachedRepository,
    revision: string,
    content: RevisionContent = PLAIN,
  ): Promise<WorkspaceBase> {
    const name = nameOfFiles(revision, content);
    // Git would update neither submodules nor what is lacking.
    if (name !== revision) return await this.exactly(repository, name, content);
    const folder = join(this.#options.folder, repository.key);
    const exact = baseIn(folder, revision);
    const found = existsSync(exact.tree) ? exact : await this.#latest(folder);
    if (found === undefined) return await this.#make(repository, folder, revision, content);
    await use(join(folder, found.name)).catch(() => {});
    return found;
  }

  /** The base that a workspace began with; it is created again if it was removed. */
  async exactly(
    repository: CachedRepository,
    name: string,
    content: RevisionContent = PLAIN,
  ): Promise<WorkspaceBase> {
    const folder = join(this.#options.folder, repository.key);
    if (existsSync(join(folder, name))) return baseIn(folder, name);
    const [revision = ""] = name.split("-");
    if (nameOfFiles(revision, content) === name) {
      return await this.#make(repository, folder, revision, content);
    }
    const why = "its submodules or files of Git LFS cannot be fetched any more";
    throw new TrunklineError("unavailable", `Cannot open the workspace: ${why}.`);
  }

  /** Removes the least recently used bases. */
  async prune(repository: CachedRepository, inUse: ReadonlySet<string | undefined>): Promise<void> {
    const folder = join(this.#options.folder, repository.key);
    const free = (await byAge(folder)).filter((name) => !inUse.has(name));
    for (const name of free.slice(this.#options.most)) {
      const gone = join(folder, unfinishedName(`gone-${name}`));
      await rename(join(folder, name), gone);
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

  async #latest(folder: string): Promise<WorkspaceBase | undefined> {
    const name = (await byAge(folder)).find((each) => !each.includes("-"));
    return name === undefined ? undefined : baseIn(folder, name);
  }

  #make(
    repository: CachedRepository,
    folder: string,
    revision: string,
    content: RevisionContent,
  ): Promise<WorkspaceBase> {
    const key = join(folder, nameOfFiles(revision, content));
    return this.#making.getOrInsertComputed(key, () =>
      checkOut(repository, folder, revision, content).finally(() => this.#making.delete(key)),
    );
  }
}

async function checkOut(
  repository: CachedRepository,
  folder: string,
  revision: string,
  content: RevisionContent,
): Promise<WorkspaceBase> {
  const name = nameOfFiles(revision, content);
  const unfinished = join(folder, unfinishedName(name));
  await rm(unfinished, { recursive: true, force: true });
  await mkdir(join(unfinished, "tree"), { recursive: true, mode: 0o755 });
  await using ends = new AsyncDisposableStack();
  ends.defer(() => rm(unfinished, { recursive: true, force: true }));
  const folders = lfsFolders(repository, content);
  const git = repository.gitWith(folders).on(join(unfinished, "tree"));
  const env = { GIT_INDEX_FILE: join(unfinished, "index") };
  await git.run(["read-tree", "-m", "-u", revision], { env, timeout: CHECKOUT_TIMEOUT });
  await flatten(git, env, content.submodules, true);
  await writeFile(join(unfinished, CONTENT), JSON.stringify(content));
  await use(unfinished);
  await rename(unfinished, join(folder, name)).catch((error: NodeJS.ErrnoException) => {
    // Another process has created it first.
    if (error.code !== "ENOTEMPTY" && error.code !== "EEXIST") throw error;
  });
  return baseIn(folder, name);
}

const CONTENT = "content.json";

function baseIn(folder: string, name: string): WorkspaceBase {
  const own = join(folder, name);
  const [revision = ""] = name.split("-");
  const content =
    name === revision
      ? PLAIN
      : (JSON.parse(readFileSync(join(own, CONTENT), "utf8")) as RevisionContent);
  return { name, revision, content, tree: join(own, "tree"), index: join(own, "index") };
}

/** By one clock: that of files lags behind, and milliseconds are the same for two uses. */
async function use(path: string): Promise<void> {
  const now = (performance.timeOrigin + performance.now()) / 1000;
  await utimes(path, now, now);
}

/** The names of bases, the most recently used first. */
async function byAge(folder: string): Promise<string[]> {
  const names = await readdir(folder).catch(() => []);
  const bases = names.filter((name) => /^[0-9a-f]{40,64}(?:-[0-9a-f]{16})?$/.test(name));
  return await byLastUse(bases, (name) => join(folder, name));
}
