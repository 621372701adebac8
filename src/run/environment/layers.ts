import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, readdir, readFile, rename, rm, utimes, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { parsedJson } from "../../base/check.ts";
import { glob } from "../../base/text/glob.ts";
import { FileLock } from "../../store/file-lock.ts";
import { byLastUse, type CachedRepository } from "../repository-cache.ts";
import { removeTree } from "../workspace/copy.ts";
import type { Recipe } from "./recipe.ts";

/** The files of a revision: the hash of each by its path. */
export type RevisionFiles = ReadonlyMap<string, string>;

/** Files that say which versions of packages and programs a repository needs. */
const LOCK_FILES = [
  ...["package-lock.json", "npm-shrinkwrap.json", "pnpm-lock.yaml", "yarn.lock"],
  ...["bun.lock", "bun.lockb", "deno.lock"],
  ...["Cargo.lock", "go.sum", "Gemfile.lock", "composer.lock", "mix.lock", "pubspec.lock"],
  ...["requirements*.txt", "poetry.lock", "uv.lock", "Pipfile.lock", "pdm.lock", "conda-lock.yml"],
  ...["packages.lock.json", "gradle.lockfile", "Package.resolved", "flake.lock"],
  ...[".nvmrc", ".node-version", ".python-version", ".ruby-version", ".tool-versions"],
  ...["rust-toolchain", "rust-toolchain.toml"],
];

export async function filesOf(
  repository: CachedRepository,
  revision: string,
): Promise<RevisionFiles> {
  const lines = await repository.git.list(["ls-tree", "-r", "-z", revision]);
  return new Map(
    lines.map((line) => {
      const tab = line.indexOf("\t");
      return [line.slice(tab + 1), line.slice(0, tab)] as const;
    }),
  );
}

/**
 * The cache key of a result of set-up: a hash of the commands, of the files that they depend on, and of
 * the ignore files, which decide what a result contains. `machine` identifies the system.
 */
export function layerKey(recipe: Recipe, files: RevisionFiles, machine: string): string {
  const { steps, env, secrets, keep } = recipe;
  const isKey = keyFiles(recipe, files);
  // Of a submodule only its commit is known here.
  const relevant = [...files].filter(([path, entry]) => isKey(path) || entry.startsWith("160000 "));
  const facts = { steps, env, secrets, keep, machine, relevant };
  return createHash("sha256").update(JSON.stringify(facts)).digest("hex").slice(0, 32);
}

function keyFiles({ keys, steps }: Recipe, files: RevisionFiles): (path: string) => boolean {
  const wanted = keys ?? LOCK_FILES;
  // A repository may have thousands of files, and most keys are plain names: a set finds those quickly.
  const names = new Set([".gitignore", ...wanted.filter((key) => !/[*/]/.test(key))]);
  const patterns = wanted
    .filter((key) => /[*/]/.test(key))
    .map((key) => ({ fits: glob(key), isPath: key.includes("/") }));
  // Scripts of the repository that the commands mention.
  const words = steps.flatMap(({ commands }) => commands.flat().flatMap(wordsOf));
  const named = new Set(words.filter((word) => files.has(word)));
  return (path) => {
    const name = path.slice(path.lastIndexOf("/") + 1);
    if (names.has(name) || named.has(path)) return true;
    return patterns.some(({ fits, isPath }) => fits(isPath ? path : name));
  };
}

function wordsOf(command: string): string[] {
  return command.split(/[\s'"`;&|()<>=]+/).map((word) => word.replace(/^\.\//, ""));
}

interface LayersOptions {
  readonly folder: string;
  /** How many are kept for each repository, in addition to those in use. */
  readonly most: number;
}

/** The files that set-up has produced, which workspaces begin with. */
export interface SetupLayer extends LayerFacts {
  readonly id: string;
  readonly tree: string;
  /** The folder of the files that set-up has left in its home. */
  readonly home?: string;
}

/** What is stored about a layer beside its files. */
interface LayerFacts {
  /** The commit that it was made on. */
  readonly revision: string;
  /** The paths in it. None is tracked in that commit. A folder stands for everything in it. */
  readonly roots: readonly string[];
  /** Patterns, as in .gitignore, of files that are never committed. */
  readonly keep: readonly string[];
}

/** The key and revision that identify a layer. */
export interface LayerName {
  readonly key: string;
  readonly revision: string;
}

/** A stored failure of set-up. */
export interface SetupFailure {
  readonly why: string;
  /** When it failed, in milliseconds since 1970. */
  readonly at: number;
  /** How many times it has failed in a row. */
  readonly count: number;
}

const LAYER = /^([0-9a-f]{32})-([0-9a-f]{40,64})$/;

/** The layers of each repository. They are added atomically; the most recently used are kept. */
export class Layers {
  readonly #options: LayersOptions;

  constructor(options: LayersOptions) {
    this.#options = options;
  }

  /**
   * A layer for a revision: made on the same revision, or on an ancestor of it, whose commits the revision
   * already trusts. Others are not used: somebody with a run on their own commit could otherwise plant
   * files in a layer that the runs of everybody else begin with.
   */
  async find(
    repository: CachedRepository,
    { key, revision }: LayerName,
    files: RevisionFiles,
  ): Promise<SetupLayer | undefined> {
    for (const id of await this.#fitting(repository, key, revision)) {
      const layer = await this.exactly(repository, id);
      if (layer === undefined) continue;
      if (layer.revision !== revision && hides(layer.roots, files)) continue;
      return layer;
    }
    return undefined;
  }

  /** The layer with an id, if it still exists. */
  async exactly(repository: CachedRepository, id: string): Promise<SetupLayer | undefined> {
    const folder = this.#at(repository, id);
    if (!LAYER.test(id) || !existsSync(join(folder, FACTS))) return undefined;
    const facts = await readJson<LayerFacts>(join(folder, FACTS));
    const now = new Date();
    await utimes(folder, now, now).catch(() => {});
    return facts === undefined ? undefined : layerIn(folder, id, facts);
  }

  /** Whether there are layers with the same key, made on any revision. */
  async hasAlike(repository: CachedRepository, { key }: LayerName): Promise<boolean> {
    const names = await readdir(this.#folder(repository)).catch(() => []);
    return names.some((name) => LAYER.test(name) && name.startsWith(key));
  }

  /** Whether a layer that could be used is being made, in any process. */
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

  /** Takes the lock for making a layer; undefined while somebody else has it. */
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

  /** Adds a layer: moves the paths from a tree and from a home into it. */
  async add(
    repository: CachedRepository,
    name: LayerName,
    from: { readonly tree: string; readonly home?: string },
    facts: Omit<LayerFacts, "revision">,
    finish: (folder: string) => Promise<void>,
  ): Promise<SetupLayer> {
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
    // An earlier one whose facts cannot be read.
    await removeTree(folder);
    await rename(unfinished, folder);
    await rm(this.#failure(repository, name), { force: true });
    return layerIn(folder, id, whole);
  }

  /** The path of the log of set-up. */
  logOf(repository: CachedRepository, name: LayerName): string {
    return `${this.#at(repository, idOf(name))}.log`;
  }

  async failureOf(
    repository: CachedRepository,
    name: LayerName,
  ): Promise<SetupFailure | undefined> {
    return await readJson(this.#failure(repository, name));
  }

  /** Stores that set-up failed, until it succeeds. */
  async failed(repository: CachedRepository, name: LayerName, why: string): Promise<SetupFailure> {
    const before = await this.failureOf(repository, name);
    const failure = { why, at: Date.now(), count: (before?.count ?? 0) + 1 };
    await writeFile(this.#failure(repository, name), JSON.stringify(failure));
    return failure;
  }

  /** Removes the least recently used layers, and unfinished ones of killed processes. */
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
      // The lock keeps others from making the layer while it is removed.
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

  /** The most recently used first. A failed set-up has no layer, so the time of its log counts. */
  #byAge(repository: CachedRepository, ids: readonly string[]): Promise<string[]> {
    return byLastUse(ids, (id) => {
      const path = this.#at(repository, id);
      return existsSync(path) ? path : `${path}.log`;
    });
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

function layerIn(folder: string, id: string, facts: LayerFacts): SetupLayer {
  const home = join(folder, "home");
  return { ...facts, id, tree: join(folder, "tree"), ...(existsSync(home) ? { home } : {}) };
}

/** The content of a JSON file; undefined if it is missing, or was truncated by a crash. */
async function readJson<T>(path: string): Promise<T | undefined> {
  return parsedJson(await readFile(path, "utf8").catch(() => "")) as T | undefined;
}

/** The name of a layer within its repository. */
export function idOf({ key, revision }: LayerName): string {
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

/** Whether paths of a layer would hide files of a revision. */
function hides(roots: readonly string[], files: RevisionFiles): boolean {
  const folders = new Set([...files.keys()].flatMap(foldersAbove));
  return roots.some(
    (root) =>
      files.has(root) ||
      folders.has(root) ||
      foldersAbove(root).some((folder) => files.has(folder)),
  );
}

/** The folders above a path. */
export function foldersAbove(path: string): string[] {
  const folders: string[] = [];
  for (let at = dirname(path); at !== "."; at = dirname(at)) folders.push(at);
  return folders;
}
