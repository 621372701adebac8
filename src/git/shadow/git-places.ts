import {
  closeSync,
  constants,
  lstatSync,
  openSync,
  readlinkSync,
  renameSync,
  symlinkSync,
} from "node:fs";
import { dirname, join, relative, sep } from "node:path";

import { GITLINK, parseIndex } from "../index-entries.ts";
import { fileIn, isFolder, MOST_INDEX } from "./git-files.ts";
import type { KnownRepository } from "./known-repositories.ts";
import type { Mount, Shadow } from "./shadow-folder.ts";

const { O_DIRECTORY, O_NOFOLLOW, O_RDONLY } = constants;
/** A snapshot, from before a command, of the places where git looks for a repository. */
interface PlacesBefore {
  readonly mounts: readonly Mount[];
  /** Moves aside files that a command has put in the place of a repository. Returns what it did, in words. */
  check(): string[];
  /** Folders of the session in which a command has made a repository. */
  made(): string[];
  /** Whether a repository was moved or removed. */
  readonly isMoved: boolean;
}

/** The file, folder or link at the path of a `.git`. */
interface Place {
  readonly identity: string | undefined;
  /** Where it leads to, if it is a link. */
  readonly link: string | undefined;
}

/** The places where the person's git, or ours, looks for a repository. */
export class GitPlaces {
  readonly #folders: readonly string[];
  /** An empty folder. */
  readonly #empty: string;
  readonly #indexes: KnownIndexes;

  constructor(folders: readonly string[], empty: string, indexes: KnownIndexes) {
    this.#folders = folders;
    this.#indexes = indexes;
    this.#empty = empty;
  }

  look(repositories: readonly KnownRepository[], shadows: readonly Shadow[]): PlacesBefore {
    const known = new Map(repositories.map(({ top }) => [top, this.#placeAt(top)]));
    const empty = shadows.flatMap((shadow) => this.#emptySubmodules(shadow));
    const isThere = (folder: string): boolean => this.#placeAt(folder)?.identity !== undefined;
    const free = this.#folders.filter((folder) => !isThere(folder));
    const isTaken = (folder: string): boolean => hasEntry(folder) && isThere(folder);
    const tracked = this.#trackedFolders(repositories).filter((folder) => !isTaken(folder));
    let isMoved = false;
    return {
      // Git would enter a repository there.
      mounts: empty
        .filter((at) => lstatSync(at, { throwIfNoEntry: false })?.isDirectory() === true)
        .map((at) => ({ at, from: this.#empty, isWritable: false })),
      get isMoved() {
        return isMoved;
      },
      made: () => free.filter(isThere),
      check: () => {
        const notes: string[] = [];
        for (const [top, before] of known) {
          const now = this.#placeAt(top);
          if (now?.identity === before?.identity) continue;
          isMoved = true;
          if (now?.identity !== undefined) notes.push(this.#setAside(top));
          if (before?.link !== undefined) this.#restore(top, before.link);
        }
        const planted = [...empty.filter(isThere), ...tracked.filter(isTaken)];
        for (const top of new Set(planted)) notes.push(this.#setAside(top));
        return notes;
      },
    };
  }

  /** Paths of submodules that are not checked out, in folders that commands can write. */
  #emptySubmodules({ repository: { top, gitDir } }: Shadow): string[] {
    const paths = this.#indexes.read(gitDir).gitlinks.map((path) => join(top, path));
    return paths.filter((path) => {
      return this.#rootOf(path) !== undefined && this.#placeAt(path)?.identity === undefined;
    });
  }

  /** Folders with tracked files that commands can write. The person uses git in them too. */
  #trackedFolders(repositories: readonly KnownRepository[]): string[] {
    const paths = repositories.flatMap(({ top, gitDir, led: [found = gitDir] = [] }) =>
      isFolder(found) ? this.#indexes.read(found).folders.map((path) => join(top, path)) : [],
    );
    return paths.filter(
      (path) => this.#rootOf(path) !== undefined && !this.#folders.includes(path),
    );
  }

  #rootOf(path: string): string | undefined {
    return this.#folders.find((folder) => path === folder || path.startsWith(folder + sep));
  }

  /** Undefined if a folder of the path is missing, or was replaced by a link. */
  #placeAt(top: string): Place | undefined {
    return this.#within(top, (folder) => {
      const path = join(folder, ".git");
      const stats = lstatSync(path, { throwIfNoEntry: false });
      if (stats === undefined) return { identity: undefined, link: undefined };
      const link = stats.isSymbolicLink() ? readlinkSync(path) : undefined;
      return { identity: `${stats.dev} ${stats.ino} ${link ?? ""}`, link };
    });
  }

  /** Under a name that git does not look for. */
  #setAside(top: string): string {
    const name = `.git-set-aside-${crypto.randomUUID().slice(0, 8)}`;
    const isDone = this.#within(top, (folder) => {
      renameSync(join(folder, ".git"), join(folder, name));
      return true;
    });
    const what = `a repository that the command put into '${top}'`;
    const why = "your own git would go into it";
    return isDone === true
      ? `${what} is now '${name}' there: ${why}`
      : `${what} is left: remove it`;
  }

  #restore(top: string, link: string): void {
    this.#within(top, (folder) => symlinkSync(link, join(folder, ".git")));
  }

  /** Calls back with a path of the folder that follows no link, and stays valid if a command moves it. */
  #within<T>(top: string, use: (folder: string) => T): T | undefined {
    const root = this.#rootOf(top);
    // Commands cannot change folders above those of the session.
    const steps = root === undefined ? [] : relative(root, top).split(sep).filter(Boolean);
    let folder: number | undefined;
    try {
      folder = openSync(root ?? top, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
      for (const step of steps) {
        const next = openSync(
          `/proc/self/fd/${folder}/${step}`,
          O_RDONLY | O_DIRECTORY | O_NOFOLLOW,
        );
        closeSync(folder);
        folder = next;
      }
      return use(`/proc/self/fd/${folder}`);
    } catch {
      return undefined;
    } finally {
      if (folder !== undefined) closeSync(folder);
    }
  }
}

/** A quick check. It follows links, so its result is only a hint. */
function hasEntry(folder: string): boolean {
  return lstatSync(join(folder, ".git"), { throwIfNoEntry: false }) !== undefined;
}

/** The facts about an index that are needed before a command. */
interface KnownIndex {
  /** Paths of submodules. */
  readonly gitlinks: readonly string[];
  /** Paths of the folders that its files are in, without its top. */
  readonly folders: readonly string[];
  /** Why changes that a command makes to it could not be taken over. */
  readonly problem: string | undefined;
}

/** Cached indexes, read again when git has written a new one: an index of 20,000 files is slow to read. */
export class KnownIndexes {
  readonly #known = new Map<string, KnownIndex & { readonly version: string }>();

  read(gitDir: string): KnownIndex {
    const stats = lstatSync(join(gitDir, "index"), { bigint: true, throwIfNoEntry: false });
    // Not the time of its last change, which a link to it sets too.
    const { ino = 0n, size = 0n, mtimeNs = 0n } = stats ?? {};
    const version = `${ino} ${size} ${mtimeNs}`;
    const known = this.#known.get(gitDir);
    if (known?.version === version) return known;
    const found = { ...look(gitDir), version };
    this.#known.set(gitDir, found);
    return found;
  }
}

function look(gitDir: string): KnownIndex {
  try {
    const entries = [...parseIndex(fileIn(gitDir, "index", MOST_INDEX)).values()];
    const gitlinks = entries.filter(({ mode }) => mode === GITLINK).map(({ path }) => path);
    const folders = new Set<string>();
    for (const { path } of entries) {
      let at = dirname(path);
      for (; at !== "." && !folders.has(at); at = dirname(at)) folders.add(at);
    }
    const named = (path: string): string => Buffer.from(path, "latin1").toString("utf8");
    return {
      gitlinks: gitlinks.map(named),
      folders: Array.from(folders, named),
      problem: undefined,
    };
  } catch (error) {
    return {
      gitlinks: [],
      folders: [],
      problem: `its index cannot be read: ${(error as Error).message}`,
    };
  }
}
