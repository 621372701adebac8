import type { Dirent } from "node:fs";
import { readdir } from "node:fs/promises";
import { join, matchesGlob, relative } from "node:path";

import type { Stop } from "../../base/stop.ts";

/** Folders that are listed, but not searched: they are large and generated. */
const SKIPPED = new Set([".git", "node_modules", ".venv", "__pycache__", ".hg", ".svn"]);

export interface WalkOptions {
  readonly depth: number;
  readonly most: number;
  /** Glob for paths relative to the folder. */
  readonly pattern?: string | undefined;
  readonly stop: Stop;
}

export interface Walked {
  /** Relative to the folder, sorted; folders end with a slash. */
  readonly names: readonly string[];
  readonly isCut: boolean;
}

/** Lists a folder. Links are listed, but not followed. */
export async function walk(folder: string, options: WalkOptions): Promise<Walked> {
  const { depth, most, pattern, stop } = options;
  const names: string[] = [];
  let looked = 0;
  const visit = async (path: string, left: number): Promise<boolean> => {
    for (const entry of await entriesOf(path)) {
      stop.signal.throwIfAborted();
      if (names.length >= most || ++looked > most * 100) return false;
      const full = join(path, entry.name);
      const name = relative(folder, full) + (entry.isDirectory() ? "/" : "");
      if (pattern === undefined || fits(name, pattern)) names.push(name);
      const isOpen = entry.isDirectory() && left > 1 && !SKIPPED.has(entry.name);
      if (isOpen && !(await visit(full, left - 1))) return false;
    }
    return true;
  };
  const isWhole = await visit(folder, depth);
  return { names, isCut: !isWhole };
}

/** A pattern without a slash matches names in any folder. */
function fits(name: string, pattern: string): boolean {
  if (name.endsWith("/")) return false;
  return matchesGlob(name, pattern.includes("/") ? pattern : `**/${pattern}`);
}

async function entriesOf(folder: string): Promise<Dirent[]> {
  const entries = await readdir(folder, { withFileTypes: true });
  return entries.toSorted((a, b) => (a.name < b.name ? -1 : 1));
}
