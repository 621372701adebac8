import { join } from "node:path";
import { fileWords, TrunklineError } from "../../base/errors.ts";
import { TaskQueue } from "../../base/limit/task-queue.ts";
import { formatMarkdown, parseMarkdown } from "./markdown-file.ts";
import { MarkdownFolder, OWN, SIDECAR } from "./markdown-folder.ts";
import { FileLock } from "../../store/file-lock.ts";
import {
  checkExpected,
  checkSize,
  type Document,
  MAX_ENTRIES,
  type Storage,
  type StorageEntry,
  type StoredDocument,
  tooMany,
} from "./storage.ts";
import { storageFolder, storagePath } from "./storage.ts";
import { storagePattern } from "./storage.ts";

/** Error codes, of the system and of SQLite, for a folder that may be read but not written. */
const NOT_WRITABLE: readonly unknown[] = ["EACCES", "EPERM", "EROFS", 3, 8, 14];

/**
 * Documents as files of a workspace, under `.projects/`, as Orchestra has them: metadata as YAML at
 * the head, the version in a file beside it. People edit them, too: a file without a version has
 * version 0, and one whose metadata cannot be read is not written over. Without a pattern, `list`
 * tells of `*.md`.
 */
export class MarkdownStorage implements Storage {
  readonly #folder: MarkdownFolder;
  readonly #queue = new TaskQueue();

  constructor(workspace: string) {
    this.#folder = new MarkdownFolder(workspace);
  }

  async read(path: string): Promise<StoredDocument | undefined> {
    const name = nameOf(path);
    return this.#do("read", path, async () => {
      if (!(await this.#folder.exists())) return undefined;
      const location = await this.#folder.locate(name);
      const [file, version = 0] = await this.#alone("read", () =>
        Promise.all([this.#folder.read(location), this.#folder.version(location)]),
      );
      if (file === undefined) return undefined;
      return { ...(await parseMarkdown(path, file.bytes)), version };
    });
  }

  async write(path: string, document: Document, expected: number): Promise<number> {
    const name = nameOf(path);
    checkSize(path, "write", document.content.length);
    const bytes = await formatMarkdown(path, document);
    return this.#do("write", path, () =>
      this.#alone("write", async () => {
        const location = await this.#folder.locate(name);
        const file = await this.#folder.read(location);
        const last = (await this.#folder.version(location)) ?? 0;
        checkExpected(path, expected, file === undefined ? undefined : last);
        // A person may be editing a file that cannot be parsed, and would lose the changes.
        if (file !== undefined) await parseMarkdown(path, file.bytes);
        const version = last + 1;
        await this.#folder.replace(location, { ...file, bytes }, version);
        return version;
      }),
    );
  }

  async delete(path: string): Promise<boolean> {
    const name = nameOf(path);
    return this.#do("delete", path, async () => {
      if (!(await this.#folder.exists())) return false;
      return this.#alone("write", async () => {
        const location = await this.#folder.locate(name);
        if ((await this.#folder.read(location)) === undefined) return false;
        await this.#folder.remove(location);
        return true;
      });
    });
  }

  async list(folder: string, pattern = "*.md"): Promise<StorageEntry[]> {
    const name = storageFolder(folder);
    const isWanted = storagePattern(pattern);
    return this.#do("list", folder, async () => {
      const entries: StorageEntry[] = [];
      for await (const { path, location, stats } of this.#folder.files(name)) {
        const last = path.slice(path.lastIndexOf("/") + 1);
        if (last.endsWith(SIDECAR) || !isWanted(last)) continue;
        if (entries.length === MAX_ENTRIES) throw tooMany(folder);
        // Nobody has read what is only listed, so it matters little if it changes meanwhile.
        const version = (await this.#folder.version(location)) ?? 0;
        entries.push({ path, size: stats.size, version, modifiedAt: stats.mtime });
      }
      return entries.toSorted((a, b) => (a.path < b.path ? -1 : 1));
    });
  }

  /**
   * Runs work under the lock of the folder. Readers take it too: between a new version and its document
   * they would take the old document for that version. A reader that may not write there, and so cannot
   * lock, reads without the lock.
   */
  async #alone<T>(purpose: "read" | "write", work: () => Promise<T>): Promise<T> {
    return this.#queue.run(async () => {
      using _ = await this.#take(purpose);
      return await work();
    });
  }

  async #take(purpose: "read" | "write"): Promise<FileLock | undefined> {
    try {
      return await FileLock.take(join(await this.#folder.own(), "lock"));
    } catch (error) {
      const { code, cause } = error as NodeJS.ErrnoException;
      const { errcode } = (cause ?? {}) as { errcode?: unknown };
      if (purpose === "read" && NOT_WRITABLE.includes(errcode ?? code)) return undefined;
      throw error;
    }
  }

  async #do<T>(verb: string, path: string, work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      // Only the system's failures have a code.
      const { code } = error as NodeJS.ErrnoException;
      if (code === undefined || error instanceof TrunklineError) throw error;
      const says = `Cannot ${verb} '${path}': ${fileWords(error)}`;
      throw new TrunklineError("unavailable", says, { cause: error });
    }
  }
}

function nameOf(path: string): string {
  const name = storagePath(path);
  const isOwn = name.toLowerCase().split("/", 1)[0] === OWN;
  if (!isOwn && !name.endsWith(SIDECAR)) return name;
  const what = isOwn ? `'${OWN}' is the storage's own` : `'*${SIDECAR}' are the versions of others`;
  throw new TrunklineError("usage", `Cannot use the path '${path}': ${what}`);
}
