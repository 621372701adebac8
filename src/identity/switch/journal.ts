import { chmod, mkdir, open, readFile, stat, truncate } from "node:fs/promises";
import { dirname, join } from "node:path";

import { fileWords, TrunklineError } from "../../base/errors.ts";
import { FileLock } from "../../store/file-lock.ts";
import { replaceFile } from "../../store/replace-file.ts";
import type { FileChange } from "../../base/file/file-change.ts";
import { journalPath } from "./repair.ts";

/** One changed value, for display. */
export interface SettingChange {
  readonly file: string;
  readonly key: string;
  /** Empty if it was not set in that file. Secrets are masked. */
  readonly before: readonly string[];
  readonly after: readonly string[];
}

/** What a change applies to: a repository, or, with neither field, the user's own configuration. */
export interface ChangeSubject {
  /** The folder that all work trees of the repository share. */
  readonly repository?: string;
  readonly worktree?: string;
}

export type ChangeKind = "switch" | "sync" | "undo";

/** A change as it was started, with everything needed to restore the files. */
export interface JournalEntry {
  readonly id: string;
  readonly at: string;
  readonly kind: ChangeKind;
  readonly identity: string | undefined;
  readonly subject: ChangeSubject;
  readonly settings: readonly SettingChange[];
  readonly files: readonly FileChange[];
  /** For an undo: the id of the change that it undoes. */
  readonly undoes: string | undefined;
}

/**
 * How a change ended. "finished" was interrupted after its last step, before its end was written.
 */
export type Outcome = "done" | "finished" | "rolled-back";

export interface JournalState extends JournalEntry {
  readonly outcome: Outcome | undefined;
  readonly isUndone: boolean;
}

interface BeginLine extends Omit<JournalEntry, "files"> {
  readonly event: "begin";
  readonly files: readonly FileLine[];
}

interface FileLine extends Omit<FileChange, "before" | "after"> {
  readonly before: string | null;
  readonly after: string | null;
}

interface EndLine {
  readonly event: Outcome;
  readonly id: string;
  readonly at: string;
}

/** Bytes. Enough to undo a few hundred changes. */
const MAX_SIZE = 4 * 1024 * 1024;
const KEPT = 50;

/**
 * Milliseconds to wait for others. Many may switch at once, each with several processes of git: they take
 * seconds on a busy machine.
 */
const LONGEST_WAIT = 60_000;

/**
 * A journal of every change to a file that is not ours, written before the change is made, with the
 * content before and after. It is append-only; when it grows too large the oldest entries are
 * dropped. Writers hold the lock.
 */
export class Journal {
  readonly folder: string;
  readonly path: string;

  constructor(data: string) {
    this.path = journalPath(data);
    this.folder = dirname(this.path);
  }

  /** Waits for the lock, which all processes share. */
  async lock(): Promise<Disposable> {
    try {
      await mkdir(this.folder, { recursive: true, mode: 0o700 });
    } catch (error) {
      const says = `Cannot make the folder '${this.folder}': ${fileWords(error, this.folder)}`;
      throw new TrunklineError("unavailable", says, { cause: error });
    }
    // Loaded only for a change.
    return await FileLock.take(join(this.folder, "lock"), LONGEST_WAIT);
  }

  /** Resolves when the entry is on disk. */
  async begin(entry: JournalEntry): Promise<void> {
    const files = entry.files.map((file) => ({
      ...file,
      before: file.before?.toString("base64") ?? null,
      after: file.after?.toString("base64") ?? null,
    }));
    const line: BeginLine = { event: "begin", ...entry, files };
    const isNew = await this.#tidy();
    await this.#append(line, true);
    if (isNew) await syncFolder(this.folder);
  }

  async end(id: string, outcome: Outcome): Promise<void> {
    const line: EndLine = { event: outcome, id, at: new Date().toISOString() };
    await this.#append(line, false);
  }

  /** All entries, oldest first. */
  async entries(): Promise<JournalState[]> {
    const text = await this.#read();
    const entries = new Map<string, JournalState>();
    for (const line of text.split("\n").slice(0, -1)) {
      const event = this.#parse(line);
      if (event.event === "begin") entries.set(event.id, begun(event));
      else {
        const entry = entries.get(event.id);
        if (entry === undefined) continue;
        entries.set(event.id, { ...entry, outcome: event.event });
        const undone = entry.undoes === undefined ? undefined : entries.get(entry.undoes);
        if (undone === undefined || event.event === "rolled-back") continue;
        entries.set(undone.id, { ...undone, isUndone: true });
      }
    }
    return [...entries.values()];
  }

  /** Whether the last change was interrupted. Reads only the end of the file. */
  async hasPending(): Promise<boolean> {
    const tail = await this.#tail(512);
    // Only the line that ends a change looks like this.
    const end = /\n?\{"event":"(?:done|finished|rolled-back)","id":"[^"]*","at":"[^"]*"\}\n$/;
    return tail !== "" && !end.test(tail);
  }

  /** The end of the file; empty where there is none. */
  async #tail(most: number): Promise<string> {
    const { size } = await stat(this.path).catch(() => ({ size: 0 }));
    if (size === 0) return "";
    await using file = await open(this.path, "r");
    const tail = Buffer.alloc(Math.min(size, most));
    await file.read(tail, 0, tail.length, size - tail.length);
    return tail.toString("latin1");
  }

  async #read(): Promise<string> {
    try {
      return await readFile(this.path, "utf8");
    } catch (error) {
      const { code, message } = error as NodeJS.ErrnoException;
      if (code === "ENOENT" || code === "ENOTDIR") return "";
      throw this.#broken(message, error);
    }
  }

  #parse(line: string): BeginLine | EndLine {
    try {
      return JSON.parse(line) as BeginLine | EndLine;
    } catch (error) {
      throw this.#broken("a line of it is not JSON", error);
    }
  }

  #broken(why: string, cause: unknown): TrunklineError {
    const next = "Move the file away to continue; the changes in it can then not be undone.";
    return new TrunklineError("config", `Cannot read '${this.path}': ${why}. ${next}`, { cause });
  }

  async #append(line: BeginLine | EndLine, mustSync: boolean): Promise<void> {
    try {
      await this.#dropTorn();
      await using file = await open(this.path, "a", 0o600);
      await file.writeFile(`${JSON.stringify(line)}\n`);
      if (mustSync) await file.datasync();
    } catch (error) {
      const says = `Cannot write '${this.path}': ${fileWords(error, this.path)}`;
      throw new TrunklineError("unavailable", says, { cause: error });
    }
  }

  /** Drops old lines if the file is too large. Returns whether the file is new. */
  async #tidy(): Promise<boolean> {
    const { size } = await stat(this.path).catch(() => ({ size: -1 }));
    if (size < 0) return true;
    if (size <= MAX_SIZE) return false;
    await this.#dropTorn();
    await this.#forget();
    return false;
  }

  /**
   * A writer that failed or was killed may have left half a line. Remove it, or the next line would
   * be appended to it.
   */
  async #dropTorn(): Promise<void> {
    if (["", "\n"].includes(await this.#tail(1))) return;
    const bytes = await readFile(this.path);
    await truncate(this.path, bytes.lastIndexOf("\n") + 1);
  }

  async #forget(): Promise<void> {
    const recent = (await this.entries()).slice(-KEPT).map(({ id }) => id);
    const lines = (await this.#read()).split("\n").slice(0, -1);
    const kept = lines.filter((line) => recent.includes(this.#parse(line).id));
    await replaceFile(this.path, kept.map((line) => `${line}\n`).join(""));
    await chmod(this.path, 0o600);
  }
}

function begun(line: BeginLine): JournalState {
  const { event: _, files, ...entry } = line;
  const bytes = (text: string | null): Buffer | undefined => {
    return text === null ? undefined : Buffer.from(text, "base64");
  };
  return {
    ...entry,
    files: files.map((file) => ({ ...file, before: bytes(file.before), after: bytes(file.after) })),
    outcome: undefined,
    isUndone: false,
  };
}

async function syncFolder(path: string): Promise<void> {
  await using folder = await open(path, "r");
  await folder.sync();
}
