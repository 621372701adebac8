import { readdir } from "node:fs/promises";
import { basename, dirname, join } from "node:path";

/** Names that are offered at once. */
const MOST = 50;
/** Files of a repository among which is looked, and milliseconds after which they are listed again. */
const MOST_FILES = 50_000;
const STALE = 10_000;

/** Completes the names of files in a prompt. */
export class FileNames {
  #files: { folder: string; at: number; names: Promise<string[]> } | undefined;

  /** The names in a folder that fit what was typed after `@`. */
  async of(folder: string, typed: string): Promise<string[]> {
    if (typed.startsWith("/") || typed.startsWith("..")) return await namesIn(folder, typed);
    return this.inside(folder, typed);
  }

  /** The same without names that are elsewhere. */
  async inside(folder: string, typed: string): Promise<string[]> {
    return bestOf(await this.#listed(folder), typed);
  }

  #listed(folder: string): Promise<string[]> {
    const known = this.#files;
    if (known?.folder === folder && performance.now() - known.at < STALE) return known.names;
    const names = filesOf(folder);
    this.#files = { folder, at: performance.now(), names };
    return names;
  }
}

/** The files of a repository that git does not ignore, or else the names in the folder. */
async function filesOf(folder: string): Promise<string[]> {
  const args = ["ls-files", "--cached", "--others", "--exclude-standard", "-z"];
  const { Git } = await import("../../git/git.ts");
  const listed = await new Git(folder).list(args).catch(() => undefined);
  return (listed ?? (await namesIn(folder, ""))).slice(0, MOST_FILES);
}

/** Names below a folder that is being typed. */
async function namesIn(folder: string, typed: string): Promise<string[]> {
  const parent = typed.endsWith("/") || typed === "" ? typed : dirname(typed);
  const start = typed.endsWith("/") ? "" : basename(typed);
  const found = await readdir(join(parent.startsWith("/") ? "" : folder, parent), {
    withFileTypes: true,
  }).catch(() => []);
  return found
    .filter(({ name }) => name.startsWith(start))
    .slice(0, MOST)
    .map((each) => join(parent, each.name) + (each.isDirectory() ? "/" : ""));
}

/** The names that fit what is typed: those whose file name begins with it, then those that contain it. */
function bestOf(names: readonly string[], typed: string): string[] {
  const text = typed.toLowerCase();
  const scored = names.flatMap((name) => {
    const score = scoreOf(name.toLowerCase(), text);
    return score === undefined ? [] : [{ name, score }];
  });
  return scored
    .toSorted((a, b) => a.score - b.score || a.name.length - b.name.length)
    .slice(0, MOST)
    .map(({ name }) => name);
}

function scoreOf(name: string, text: string): number | undefined {
  if (name.startsWith(text)) return 0;
  if (basename(name).startsWith(text)) return 1;
  if (name.includes(text)) return 2;
  let at = -1;
  for (const letter of text) {
    at = name.indexOf(letter, at + 1);
    if (at < 0) return undefined;
  }
  return 3;
}
