import { createHash } from "node:crypto";
import { mkdir, open, readdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";

import { diskWords, TrunklineError } from "../../base/errors.ts";

/** What one turn has done to one file. */
export interface Change {
  readonly path: string;
  /** What it held before; nothing where there was no file. */
  readonly before: Buffer | undefined;
  readonly mode: number | undefined;
  /** The highest folder that was made for it. */
  readonly made: string | undefined;
  /** Digests of what the turn left in it: as it was written, and as it then was on disk. */
  readonly after: readonly string[] | undefined;
  /** Somebody else may have had a part in it: it changed while a command ran, or between two writes. */
  readonly isShared: boolean;
}

/** A turn that can be undone. */
export interface RecordedTurn {
  readonly folder: string;
  readonly changes: readonly Change[];
  /** Commands whose effects nobody has recorded. */
  readonly commands: readonly string[];
}

interface Line {
  readonly path?: string;
  readonly blob?: string | null;
  readonly mode?: number;
  readonly made?: string;
  readonly after?: readonly string[];
  readonly isShared?: true;
  readonly command?: string;
}

const FILE = "turn.jsonl";
const MOST_TURNS = 20;

/**
 * What files held before the turns of a session changed them. It is on disk before the change is,
 * and stays there when the process ends.
 */
export class Journal {
  readonly #folder: string;

  constructor(data: string, sessionId: string) {
    this.#folder = join(data, "undo", encodeURIComponent(sessionId).replaceAll(".", "%2E"));
  }

  /** Begins to record a turn. Nothing is written before the first change. */
  begin(): TurnJournal {
    return new TurnJournal(async () => {
      const turns = await this.#turns();
      for (const old of turns.slice(0, Math.max(0, turns.length - MOST_TURNS + 1))) {
        await remove(join(this.#folder, old));
      }
      const next = Number(turns.at(-1) ?? 0) + 1;
      const folder = join(this.#folder, String(next).padStart(8, "0"));
      await mkdir(folder, { recursive: true, mode: 0o700 }).catch((error: unknown) => {
        throw diskProblem("make", folder, error);
      });
      return folder;
    });
  }

  /** The last turn that changed something and was not undone. */
  async last(): Promise<RecordedTurn | undefined> {
    for (const name of (await this.#turns()).toReversed()) {
      const turn = await readTurn(join(this.#folder, name));
      if (turn.changes.length > 0 || turn.commands.length > 0) return turn;
    }
    return undefined;
  }

  async forget(turn: RecordedTurn): Promise<void> {
    await remove(turn.folder);
  }

  /** For a session that is deleted. */
  async remove(): Promise<void> {
    await remove(this.#folder);
  }

  async #turns(): Promise<string[]> {
    const names = await readdir(this.#folder).catch(() => []);
    return names.filter((name) => /^\d+$/.test(name)).toSorted();
  }
}

export class TurnJournal {
  readonly #make: () => Promise<string>;
  /** What the turn left in the files that it has changed. */
  readonly #known = new Map<string, readonly string[]>();
  #folder: Promise<string> | undefined;
  #blobs = 0;
  /** The last line may be there in part. */
  #isTorn = false;

  constructor(make: () => Promise<string>) {
    this.#make = make;
  }

  /** The files that the turn has changed. */
  get paths(): readonly string[] {
    return [...this.#known.keys()];
  }

  /** To be awaited before a file is changed. What is given back is what it held before the first. */
  async before(path: string, content: Content, mode?: number): Promise<void> {
    const left = this.#known.get(path);
    if (left !== undefined) {
      if (!left.includes(digestOf(content))) await this.shared(path);
      return;
    }
    const blob = content === undefined ? null : `${this.#blobs++}.before`;
    if (blob !== null) await put(join(await this.#made(), blob), content ?? "", "wx");
    await this.#append({ path, blob, ...(mode === undefined ? {} : { mode }) });
    // Not before it is kept: a change that is refused for that may be tried again.
    this.#known.set(path, []);
  }

  /** What the turn left in a file, in the forms that it may be found in. */
  async after(path: string, forms: readonly Content[], made?: string): Promise<void> {
    const after = [...new Set(forms.map(digestOf))];
    this.#known.set(path, after);
    await this.#append({ path, after, ...(made === undefined ? {} : { made }) });
  }

  /** Somebody else may have changed the file, too, since it held what is kept. */
  async shared(path: string): Promise<void> {
    await this.#append({ path, isShared: true });
  }

  async ran(command: string): Promise<void> {
    await this.#append({ command });
  }

  async #append(line: Line): Promise<void> {
    const path = join(await this.#made(), FILE);
    const text = `${this.#isTorn ? "\n" : ""}${JSON.stringify(line)}\n`;
    this.#isTorn = true;
    await put(path, text, "a");
    this.#isTorn = false;
  }

  #made(): Promise<string> {
    this.#folder ??= this.#make();
    // Clear the cached failure so that the next change retries.
    this.#folder.catch(() => (this.#folder = undefined));
    return this.#folder;
  }
}

/** What a file holds; nothing where there is none. */
type Content = Buffer | undefined;

export function digestOf(content: Content): string {
  return content === undefined ? "" : createHash("sha256").update(content).digest("hex");
}

async function put(path: string, content: string | Buffer, flags: "a" | "wx"): Promise<void> {
  try {
    await using file = await open(path, flags, 0o600);
    await file.writeFile(content);
    await file.sync();
  } catch (error) {
    throw diskProblem("write", path, error);
  }
}

async function remove(path: string): Promise<void> {
  try {
    await rm(path, { recursive: true, force: true });
  } catch (error) {
    throw diskProblem("remove", path, error);
  }
}

async function readTurn(folder: string): Promise<RecordedTurn> {
  const text = await readFile(join(folder, FILE), "utf8").catch(() => "");
  const changes = new Map<string, Change>();
  const commands: string[] = [];
  for (const line of parseLines(text)) {
    if (line.command !== undefined) commands.push(line.command);
    if (line.path === undefined) continue;
    const known = changes.get(line.path);
    if (known !== undefined) {
      const { after = known.after, made = known.made, isShared = known.isShared } = line;
      changes.set(line.path, { ...known, after, made, isShared });
    } else if (line.blob !== undefined) {
      const before = line.blob === null ? undefined : await readFile(join(folder, line.blob));
      const { path, mode } = line;
      const unknown = { made: undefined, after: undefined, isShared: false };
      changes.set(path, { path, before, mode, ...unknown });
    }
  }
  return { folder, changes: [...changes.values()], commands };
}

/** The last line may be torn: the process ended over it, and with it what it was to announce. */
function parseLines(text: string): Line[] {
  return text.split("\n").flatMap((line) => {
    try {
      return [JSON.parse(line) as Line];
    } catch {
      return [];
    }
  });
}

/** What the system said of a file, and what was to be done with it. */
function diskProblem(verb: string, path: string, cause: unknown): unknown {
  const words = diskWords(cause);
  if (words === undefined) return cause;
  return new TrunklineError("unavailable", `Cannot ${verb} '${path}': ${words}`, { cause });
}
