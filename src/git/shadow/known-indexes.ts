import { lstatSync } from "node:fs";
import { dirname, join } from "node:path";

import { GITLINK, parseIndex } from "../index-entries.ts";
import { fileIn, MOST_INDEX } from "./git-files.ts";

/** What has to be known of an index before a command. */
interface KnownIndex {
  /** Paths of submodules. */
  readonly gitlinks: readonly string[];
  /** Paths of the folders that its files are in, without its top. */
  readonly folders: readonly string[];
  /** Why what a command makes of it could not be taken over. */
  readonly problem: string | undefined;
}

/** Indexes, each read again only when git has written another one: one of 20,000 files takes long to read. */
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
