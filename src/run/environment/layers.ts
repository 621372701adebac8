import { existsSync } from "node:fs";
import { mkdir, readdir, readFile, rename, rm, stat, utimes, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";

import { FileLock } from "../../store/file-lock.ts";
import type { CachedRepository } from "../repository-cache.ts";
import { removeTree } from "../workspace/copy.ts";
import type { RevisionFiles } from "./layer-key.ts";

export interface LayersOptions {
  readonly folder: string;
  /** How many are kept of a repository; those in use are kept besides. */
  readonly most: number;
}

/** What set-up has left, to be put under workspaces. */
export interface Layer extends LayerFacts {
  readonly id: string;
  readonly tree: string;
  /** What set-up has left in its home. */
  readonly home?: string;
}

/** What is kept of a layer beside its files. */
export interface LayerFacts {
  /** The commit that it was made on. */
  readonly revision: string;
  /** The paths in it, none of which is tracked there; a folder stands for all that is in it. */
  readonly roots: readonly string[];
  /** Patterns, as in .gitignore, of what is not to be committed. */
  readonly keep: readonly string[];
}

/** Which layer is looked for. */
export interface LayerName {
  readonly key: string;
  readonly revision: string;
}

/** A set-up that failed, as it is remembered. */
export interface SetupFailure {
  readonly why: string;
  /** When, in milliseconds since 1970. */
  readonly at: number;
  /** How many times in a row. */
  readonly count: number;
}

const LAYER = /^([0-9a-f]{32})-([0-9a-f]{40,64})$/;

/** Results of set-up, by repository. One is there whole or not at all; the ones used last are kept. */
export class Layers {
  readonly #options: LayersOptions;

  constructor(options: LayersOptions) {
    this.#options = options;
  }

  /**
   * A layer that fits a revision. Beside that made on the very revision, one made on an ancestor
   * fits, whose files the revision's authors had before them. Others do not: whoever gets a run on a
   * commit of their own could leave something in a layer for the runs of everybody else.
   */
  async find(
    repository: CachedRepository,
    { key, revision }: LayerName,
    files: RevisionFiles,
  ): Promise<Layer | undefined> {
    for (const id of await this.#fitting(repository, key, revision)) {
      const layer = await this.exactly(repository, id);
      if (layer === undefined) continue;
      if (layer.revision !== revision && hides(layer.roots, files)) continue;
      return layer;
    }
    return undefined;
  }

  /** A layer that is known, if it is still there. */
  async exactly(repository: CachedRepository, id: string): Promise<Layer | undefined> {
    const folder = this.#at(repository, id);
    if (!LAYER.test(id) || !existsSync(join(folder, FACTS))) return undefined;
    const facts = await readJson<LayerFacts>(join(folder, FACTS));
    const now = new Date();
    await utimes(folder, now, now).catch(() => {});
    return facts === undefined ? undefined : layerIn(folder, id, facts);
  }

  /** Whether there are some that might fit, but for the revision that they were made on. */
  async hasAlike(repository: CachedRepository, { key }: LayerName): Promise<boolean> {
    const names = await readdir(this.#folder(repository)).catch(() => []);
    return names.some((name) => LAYER.test(name) && name.startsWith(key));
  }

  /** Whether somebody is making a layer that would fit. */
  async isBeingMade(repository: CachedRepository, { key, revision }: LayerName): Promise<boolean> {
    const names = await readdir(this.#folder(repository)).catch(() => []);
    const making = names
      .filter(
        (name) => name.endsWith(LOCK) && FileLock.isTaken(join(this.#folder(repository), name)),
      )
      .map((name) => LAYER.exec(name.slice(0, -LOCK.length)));
    for (const [, itsKey, its = ""] of making.filter((match) => match !== null)) {
      if (itsKey === key && (await isAncestor(repository, its, revision))) return true;
    }
    return false;
  }

  /** The right to make a layer; undefined while somebody else has it. */
  async begin(repository: CachedRepository, name: LayerName): Promise<Disposable | undefined> {
    const path = `${this.#at(repository, idOf(name))}${LOCK}`;
    await mkdir(dirname(path), { recursive: true, mode: 0o711 });
    try {
      return await FileLock.take(path, 100);
    } catch (error) {
      if (FileLock.isTaken(path)) return undefined;
      throw error;
    }
  }

  /** Makes a layer of some paths of a tree and of a home, from where they are moved. */
  async add(
    repository: CachedRepository,
    name: LayerName,
    from: { readonly tree: string; readonly home?: string },
    facts: Omit<LayerFacts, "revision">,
    finish: (folder: string) => Promise<void>,
  ): Promise<Layer> {
    const [id, { revision }] = [idOf(name), name];
    const folder = this.#at(repository, id);
    const unfinished = `${folder}${UNFINISHED}`;
    await removeTree(unfinished);
    const tree = join(unfinished, "tree");
    await mkdir(tree, { recursive: true, mode: 0o755 });
    for (const root of facts.roots) {
      const to = join(tree, root);
      await mkdir(dirname(to), { recursive: true, mode: 0o755 });
      await rename(join(from.tree, root), to);
    }
    if (from.home !== undefined) await rename(from.home, join(unfinished, "home"));
    await finish(unfinished);
    const whole = { ...facts, revision };
    await writeFile(join(unfinished, FACTS), JSON.stringify(whole));
    // One that cannot be read any more.
    await removeTree(folder);
    await rename(unfinished, folder);
    await rm(this.#failure(repository, name), { force: true });
    return layerIn(folder, id, whole);
  }

  /** Where the output of set-up goes. */
  logOf(repository: CachedRepository, name: LayerName): string {
    return `${this.#at(repository, idOf(name))}.log`;
  }

  async failureOf(
    repository: CachedRepository,
    name: LayerName,
  ): Promise<SetupFailure | undefined> {
    return await readJson(this.#failure(repository, name));
  }

  /** Remembers that set-up failed, until it succeeds. */
  async failed(repository: CachedRepository, name: LayerName, why: string): Promise<SetupFailure> {
    const before = await this.failureOf(repository, name);
    const failure = { why, at: Date.now(), count: (before?.count ?? 0) + 1 };
    await writeFile(this.#failure(repository, name), JSON.stringify(failure));
    return failure;
  }

  /** Removes what nobody has used for the longest time, and what a process left that was killed. */
  async prune(repository: CachedRepository, inUse: ReadonlySet<string | undefined>): Promise<void> {
    const folder = this.#folder(repository);
    const names = await readdir(folder).catch(() => []);
    const ids = [...new Set(names.map((name) => name.replace(/\.[a-z]+$/, "")))].filter((id) =>
      LAYER.test(id),
    );
    const free = ids.filter(
      (id) => !inUse.has(id) && !FileLock.isTaken(join(folder, `${id}${LOCK}`)),
    );
    const old = new Set((await this.#byAge(repository, free)).slice(this.#options.most));
    for (const id of free) {
      const isOld = old.has(id);
      // The right to make it is taken, so that nobody begins while it goes.
      using taken = await this.begin(repository, nameOf(id));
      if (taken === undefined) continue;
      await removeTree(join(folder, `${id}${UNFINISHED}`));
      if (!isOld) continue;
      const gone = join(folder, `${id}${UNFINISHED}`);
      if (existsSync(join(folder, id))) await rename(join(folder, id), gone);
      await removeTree(gone);
      for (const rest of [".log", FAILED, LOCK])
        await rm(join(folder, `${id}${rest}`), { force: true });
    }
  }

  async #fitting(repository: CachedRepository, key: string, revision: string): Promise<string[]> {
    const names = await readdir(this.#folder(repository)).catch(() => []);
    const alike = names.filter((name) => LAYER.test(name) && name.startsWith(key));
    const own = idOf({ key, revision });
    if (alike.includes(own)) return [own];
    const fitting: string[] = [];
    for (const id of await this.#byAge(repository, alike)) {
      if (await isAncestor(repository, nameOf(id).revision, revision)) fitting.push(id);
    }
    return fitting;
  }

  /** The last used first. One that failed counts by its log. */
  async #byAge(repository: CachedRepository, ids: readonly string[]): Promise<string[]> {
    const used = await Promise.all(
      ids.map(async (id) => {
        const path = this.#at(repository, id);
        const status = await stat(path)
          .catch(() => stat(`${path}.log`))
          .catch(() => undefined);
        return { id, at: status?.mtimeMs ?? 0 };
      }),
    );
    return used.toSorted((one, other) => other.at - one.at).map(({ id }) => id);
  }

  #failure(repository: CachedRepository, name: LayerName): string {
    return `${this.#at(repository, idOf(name))}${FAILED}`;
  }

  #at(repository: CachedRepository, id: string): string {
    return join(this.#folder(repository), id);
  }

  #folder({ key }: CachedRepository): string {
    return join(this.#options.folder, key);
  }
}

const FACTS = "layer.json";
const LOCK = ".lock";
const UNFINISHED = ".new";
const FAILED = ".failed";

function layerIn(folder: string, id: string, facts: LayerFacts): Layer {
  const home = join(folder, "home");
  return { ...facts, id, tree: join(folder, "tree"), ...(existsSync(home) ? { home } : {}) };
}

/** What a file holds; undefined where there is none, or one that a crash has cut. */
async function readJson<T>(path: string): Promise<T | undefined> {
  try {
    return JSON.parse(await readFile(path, "utf8")) as T;
  } catch {
    return undefined;
  }
}

function idOf({ key, revision }: LayerName): string {
  return `${key}-${revision}`;
}

function nameOf(id: string): LayerName {
  const [, key = "", revision = ""] = LAYER.exec(id) ?? [];
  return { key, revision };
}

async function isAncestor({ git }: CachedRepository, one: string, other: string): Promise<boolean> {
  if (one === other) return true;
  const answer = await git.run(["merge-base", "--is-ancestor", one, other], {
    accepts: [0, 1, 128],
  });
  return answer.code === 0;
}

/** Whether a revision has files where a layer has some, which would hide them. */
function hides(roots: readonly string[], files: RevisionFiles): boolean {
  const folders = new Set([...files.keys()].flatMap(above));
  return roots.some(
    (root) =>
      files.has(root) || folders.has(root) || above(root).some((folder) => files.has(folder)),
  );
}

/** The folders that a path is in. */
export function above(path: string): string[] {
  const folders: string[] = [];
  for (let at = dirname(path); at !== "."; at = dirname(at)) folders.push(at);
  return folders;
}
