import type { Dirent } from "node:fs";
import { readdir } from "node:fs/promises";
import { join, relative } from "node:path";

import { TrunklineError } from "../../base/errors.ts";
import { LinearExpression } from "../../base/text/linear-expression.ts";
import { Git } from "../../git/git.ts";

export interface TextSearch {
  readonly folder: string;
  readonly pattern: string;
  /** The pattern is plain text. */
  readonly literal?: boolean;
  readonly ignoreCase?: boolean;
  /** Only files whose names match. */
  readonly glob?: string | undefined;
  readonly signal: AbortSignal;
}

export interface Hit {
  /** Relative to the searched folder. */
  readonly path: string;
  readonly line: number;
  readonly text: string;
}

const MOST_BYTES = 1024 * 1024;
const LONGEST = 300;

/** Finds lines in files that git does not ignore. Patterns are extended regular expressions of POSIX, and `\d`. */
export async function searchText(search: TextSearch): Promise<Hit[]> {
  const args = ["grep", "--no-index", "--exclude-standard", "--null", "-n", "-I", "--no-color"];
  args.push(search.literal === true ? "-F" : "-E");
  if (search.ignoreCase === true) args.push("-i");
  args.push(
    "-e",
    search.literal === true ? search.pattern : withDigits(search.pattern),
    "--",
    search.glob === undefined
      ? "."
      : `:(glob)${search.glob.includes("/") ? "" : "**/"}${search.glob}`,
  );
  const git = new Git(search.folder, { maxOutput: 64 * MOST_BYTES });
  const call = { accepts: [0, 1], timeout: 20_000, signal: search.signal };
  const { stdout } = await git.run(args, call).catch((error: unknown) => {
    const isWords = error instanceof TrunklineError && error.code === "unavailable";
    throw isWords ? unfit(search.pattern, error.message) : error;
  });
  return stdout.toString("utf8").slice(0, MOST_BYTES).split("\n").flatMap(hitOf);
}

/** Models write `\d`, which POSIX does not know. */
function withDigits(pattern: string): string {
  return pattern.replaceAll(/\[(?:\\.|[^\]\\])*\]|\\d/g, (part) =>
    part === String.raw`\d` ? "[0-9]" : part.replaceAll(String.raw`\d`, "0-9"),
  );
}

/** `path NUL line NUL text`. */
function hitOf(line: string): Hit[] {
  const [, path, number, text] = /^([^\0]+)\0(\d+)\0(.*)$/s.exec(line) ?? [];
  if (path === undefined || number === undefined || text === undefined) return [];
  const shown = text.length > LONGEST ? `${text.slice(0, LONGEST)}…` : text;
  return [{ path: path.replace(/^\.\//, ""), line: Number(number), text: shown.trimEnd() }];
}

function unfit(pattern: string, why: string): TrunklineError {
  return new TrunklineError("usage", `Cannot search for '${pattern}': ${why}`);
}

/** Folders that are listed, but not searched: they are large and generated. */
const SKIPPED = new Set([".git", "node_modules", ".venv", "__pycache__", ".hg", ".svn"]);

export interface WalkOptions {
  readonly depth: number;
  readonly most: number;
  /** Glob for paths relative to the folder. */
  readonly pattern?: string | undefined;
  readonly signal: AbortSignal;
}

/**
 * Lists a folder by names relative to it, sorted; those of folders end with a slash. Links are listed, but
 * not followed.
 */
export async function walk(folder: string, options: WalkOptions) {
  const { depth, most, signal } = options;
  const wanted = options.pattern === undefined ? undefined : patternOf(options.pattern);
  const names: string[] = [];
  let looked = 0;
  const visit = async (path: string, left: number): Promise<boolean> => {
    for (const entry of await entriesOf(path)) {
      signal.throwIfAborted();
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
    const says = `'${shown}' is no pattern, or too long; an example is **/*.ts`;
    throw new TrunklineError("usage", says);
  }
}

async function entriesOf(folder: string): Promise<Dirent[]> {
  const entries = await readdir(folder, { withFileTypes: true });
  return entries.toSorted((a, b) => (a.name < b.name ? -1 : 1));
}

/** Longer than any that fits into an expression, and short enough for the pattern below. */
const LONGEST_PATTERN = 8_000;

/** A part of a glob that is not plain text. */
const TOKEN = /\*\*\/|\*\*|[*?{},]|\[(!?)([^\]/]+)\]|./gsu;

/**
 * A glob as an expression for whole paths: `*` and `?` match within a name, `**` across folders, and
 * `{a,b}` and `[a-z]` choose. `matchesGlob` of `node:path` can take minutes for a glob that a model wrote.
 * Throws if it is too long, or its brackets do not fit.
 */
export function globExpression(glob: string): LinearExpression {
  if (glob.length > LONGEST_PATTERN)
    throw new SyntaxError(`a glob may have ${LONGEST_PATTERN} characters`);
  let depth = 0;
  const source = glob.replaceAll(TOKEN, (token, negation?: string, characters?: string) => {
    if (characters !== undefined) {
      return `[${negation === "!" ? "^/" : ""}${characters.replaceAll(/[\\^[]/g, String.raw`\$&`)}]`;
    }
    if (token === "{") depth++;
    if (token === "}") depth--;
    if (token === ",") return depth > 0 ? "|" : ",";
    return MEANINGS[token] ?? RegExp.escape(token);
  });
  return new LinearExpression(`^(?:${source})$`);
}

const MEANINGS: Readonly<Record<string, string>> = {
  "**/": "(?:[^]*/)?",
  "**": "[^]*",
  "*": "[^/]*",
  "?": "[^/]",
  "{": "(?:",
  "}": ")",
};
