import type { Dirent } from "node:fs";
import { readdir } from "node:fs/promises";
import { join, relative } from "node:path";

import { TrunklineError } from "../../base/errors.ts";
import type { Stop } from "../../base/stop.ts";
import type { LinearExpression } from "../../base/text/linear-expression.ts";
import { globExpression } from "./glob.ts";

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
  const { depth, most, stop } = options;
  const wanted = options.pattern === undefined ? undefined : patternOf(options.pattern);
  const names: string[] = [];
  let looked = 0;
  const visit = async (path: string, left: number): Promise<boolean> => {
    for (const entry of await entriesOf(path)) {
      stop.signal.throwIfAborted();
      if (names.length >= most || ++looked > most * 100) return false;
      const full = join(path, entry.name);
      const name = relative(folder, full) + (entry.isDirectory() ? "/" : "");
      if (wanted === undefined || (!name.endsWith("/") && wanted.test(name))) names.push(name);
      const isOpen = entry.isDirectory() && left > 1 && !SKIPPED.has(entry.name);
      if (isOpen && !(await visit(full, left - 1))) return false;
    }
    return true;
  };
  const isWhole = await visit(folder, depth);
  return { names, isCut: !isWhole };
}

/** A pattern without a slash matches names in any folder. */
function patternOf(pattern: string): LinearExpression {
  try {
    return globExpression(pattern.includes("/") ? pattern : `**/${pattern}`);
  } catch {
    const shown = pattern.slice(0, 100);
    throw new TrunklineError(
      "usage",
      `'${shown}' is no pattern, or too long; an example is **/*.ts`,
    );
  }
}

async function entriesOf(folder: string): Promise<Dirent[]> {
  const entries = await readdir(folder, { withFileTypes: true });
  return entries.toSorted((a, b) => (a.name < b.name ? -1 : 1));
}
