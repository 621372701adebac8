import { mkdir, open, readdir, readFile, rm } from "node:fs/promises";
import { basename, join } from "node:path";

import { objectIn } from "../../base/check.ts";
import { diskWords, TrunklineError } from "../../base/errors.ts";

/** How one turn changed one file. */
export interface TurnFileChange {
  readonly path: string;
  /** Content before the turn; undefined where there was no file. */
  readonly before: Buffer | undefined;
  readonly mode: number | undefined;
  /** The path was a link, and the content that of the file it leads to. */
  readonly isLink: boolean;
  /** The topmost folder that was created for it. */
  readonly made: string | undefined;
  /** Digests of the content after the turn: as written, and as the editor saved it. */
  readonly after: readonly string[] | undefined;
  /** Somebody else may have changed it as well: during a command, or between two writes. */
  readonly isShared: boolean;
}

/** A turn that can be undone. */
export interface RecordedTurn {
  readonly folder: string;
  readonly changes: readonly TurnFileChange[];
  /** Command lines that ran, whose other effects are not recorded. */
  readonly commands: readonly string[];
}

interface JournalLine {
  readonly path?: string;
  readonly blob?: string | null;
  readonly mode?: number;
  readonly isLink?: true;
  readonly made?: string;
  readonly after?: readonly string[];
  readonly isShared?: true;
  readonly isUnchanged?: true;
  readonly command?: string;
}

const FILE = "turn.jsonl";
const UNDONE = "undone";
const MOST_TURNS = 20;

/**
 * The contents of files before the turns of a session changed them, for `/undo`. They are on disk before
 * the change is made.
 */
export class Journal {
  readonly #folder: string;
  /** The same for what `/undo` has changed, for `/redo`. Other changes remove it. */
  readonly undone: () => Journal;

  constructor(data: string, sessionId: string, part = "") {
    this.#folder = join(data, "undo", encodeURIComponent(sessionId).replaceAll(".", "%2E"), part);
    this.undone = () => new Journal(data, sessionId, UNDONE);
  }

  /** Starts the record of a turn. Nothing is written before the first change. */
  begin({ isRedo = false } = {}): TurnJournal {
    return new TurnJournal(async () => {
      const undone = this.undone();
      if (!isRedo && (await undone.#turns()).length > 0) await undone.remove();
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

  /** The last turn with changes that was not undone. */
  async last(): Promise<RecordedTurn | undefined> {
    for (const name of (await this.#turns()).toReversed()) {
      const turn = await readTurn(join(this.#folder, name));
      if (turn.changes.length > 0 || turn.commands.length > 0) return turn;
    }
    return undefined;
  }

  /** All turns that were not undone, the oldest first; the oldest ones of a long session are gone. */
  async all(): Promise<RecordedTurn[]> {
    const turns = await this.#turns();
    return Promise.all(turns.map((name) => readTurn(join(this.#folder, name))));
  }

  async forget(turn: RecordedTurn): Promise<void> {
    await remove(turn.folder);
  }

  /** Removes the record, for example of a session that is deleted. */
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
  /** Digests of the files that the turn has changed. */
  readonly #known = new Map<string, readonly string[]>();
  #folder: Promise<string> | undefined;
  #blobs = 0;
  /** The last line may be incomplete. */
  #isTorn = false;

  constructor(make: () => Promise<string>) {
    this.#make = make;
  }

  /**
   * Records the content of a file; must be awaited before it is changed. `/undo` restores the first record.
   * Returns whether this is the first.
   */
  async before(
    path: string,
    content: FileContent,
    {
      mode,
      isLink = false,
    }: { readonly mode?: number | undefined; readonly isLink?: boolean } = {},
  ): Promise<boolean> {
    const left = this.#known.get(path);
    if (left !== undefined) {
      if (!left.includes(digestOf(content))) await this.shared(path);
      return false;
    }
    const blob = content === undefined ? null : `${this.#blobs++}.before`;
    if (blob !== null) await put(join(await this.#made(), blob), content ?? "", "wx");
    const kind = isLink ? { isLink } : {};
    await this.#append({ path, blob, ...(mode === undefined ? {} : { mode }), ...kind });
    // Set after the content is on disk, so that a failed record is retried.
    this.#known.set(path, []);
    return true;
  }

  /** The change for which a file was first recorded was not made. */
  async notChanged(path: string): Promise<void> {
    await this.#append({ path, isUnchanged: true });
    this.#known.delete(path);
  }

  /** Records the content after a change, in all forms in which it may be found. */
  async after(path: string, forms: readonly FileContent[], made?: string): Promise<void> {
    const after = [...new Set(forms.map(digestOf))];
    this.#known.set(path, after);
    await this.#append({ path, after, ...(made === undefined ? {} : { made }) });
  }

  /** Records that somebody else may have changed the file as well. */
  async shared(path: string): Promise<void> {
    await this.#append({ path, isShared: true });
  }

  async ran(command: string): Promise<void> {
    await this.#append({ command });
  }

  async #append(line: JournalLine): Promise<void> {
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

/** Content of a file; undefined where there is none. */
type FileContent = Buffer | undefined;

export function digestOf(content: FileContent): string {
  if (content === undefined) return "";
  // Loaded where it is needed: whoever lists sessions would wait 10 ms for it.
  return process.getBuiltinModule("node:crypto").hash("sha256", content);
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
  await rm(path, { recursive: true, force: true }).catch((error: unknown) => {
    throw diskProblem("remove", path, error);
  });
}

async function readTurn(folder: string): Promise<RecordedTurn> {
  const text = await readFile(join(folder, FILE), "utf8").catch(() => "");
  const changes = new Map<string, TurnFileChange>();
  const commands: string[] = [];
  // An incomplete line is skipped: the process died before it made the change.
  for (const line of text.split("\n").flatMap((each) => (objectIn(each) as JournalLine) ?? [])) {
    if (line.command !== undefined) commands.push(line.command);
    if (line.path === undefined) continue;
    const known = changes.get(line.path);
    if (line.isUnchanged === true) changes.delete(line.path);
    else if (known !== undefined) {
      const { after = known.after, made = known.made, isShared = known.isShared } = line;
      changes.set(line.path, { ...known, after, made, isShared });
    } else if (line.blob !== undefined && basename(line.blob ?? "") === (line.blob ?? "")) {
      // The journal may come from another machine, so it must not name files elsewhere.
      const before = line.blob === null ? undefined : await readFile(join(folder, line.blob));
      const { path, mode, isLink = false } = line;
      const unknown = { made: undefined, after: undefined, isShared: false };
      changes.set(path, { path, before, mode, isLink, ...unknown });
    }
  }
  return { folder, changes: [...changes.values()], commands };
}

/** An error of the file system in plain words. */
function diskProblem(verb: string, path: string, cause: unknown): unknown {
  const words = diskWords(cause);
  if (words === undefined) return cause;
  return new TrunklineError("unavailable", `Cannot ${verb} '${path}': ${words}`, { cause });
}
