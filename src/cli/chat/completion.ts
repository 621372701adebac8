import { readdir } from "node:fs/promises";
import { basename, dirname, join } from "node:path";

import type { PickerItem } from "./picker.ts";

/** What may be typed instead of the end of the text before the cursor. */
export interface Completion {
  readonly length: number;
  readonly items: readonly PickerItem[];
  readonly kind: "command" | "file" | "session";
}

interface CompletionSources {
  readonly commands: () => readonly PickerItem[];
  readonly sessions: () => Promise<readonly PickerItem[]>;
  readonly folder: () => string;
}

const COMMAND = /^\/(\S*)$/;
const SESSION = /^\/resume (\S*)$/;
const FILE = /(?:^|\s)@(\S*)$/;
const MOST = 50;
/** Files of a repository among which is looked, and milliseconds after which they are listed again. */
const MOST_FILES = 50_000;
const STALE = 10_000;

/** Completes commands, files and sessions. */
export class Completions {
  readonly #sources: CompletionSources;
  #files:
    | { readonly folder: string; readonly at: number; readonly names: Promise<string[]> }
    | undefined;

  constructor(sources: CompletionSources) {
    this.#sources = sources;
  }

  async of(before: string): Promise<Completion | undefined> {
    const command = COMMAND.exec(before)?.[1];
    if (command !== undefined) {
      const items = matching(this.#sources.commands(), command);
      return some({ length: command.length + 1, items, kind: "command" });
    }
    const session = SESSION.exec(before)?.[1];
    if (session !== undefined) {
      const items = matching(await this.#sources.sessions(), session);
      return some({ length: session.length, items, kind: "session" });
    }
    const file = FILE.exec(before)?.[1];
    if (file === undefined) return undefined;
    const names =
      file.startsWith("/") || file.startsWith("..")
        ? await namesIn(this.#sources.folder(), file)
        : bestOf(await this.#listed(), file);
    const items = names.map((name) => ({ value: `@${name}`, label: name }));
    return some({ length: file.length + 1, items, kind: "file" });
  }

  #listed(): Promise<string[]> {
    const folder = this.#sources.folder();
    const known = this.#files;
    if (known?.folder === folder && performance.now() - known.at < STALE) return known.names;
    const names = filesOf(folder);
    this.#files = { folder, at: performance.now(), names };
    return names;
  }
}

function some(completion: Completion): Completion | undefined {
  return completion.items.length === 0 ? undefined : completion;
}

function matching(items: readonly PickerItem[], typed: string): readonly PickerItem[] {
  const text = typed.toLowerCase();
  const begin = items.filter(({ value }) => value.replace("/", "").toLowerCase().startsWith(text));
  return begin.slice(0, MOST);
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
