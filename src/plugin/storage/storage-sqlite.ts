import { Documents } from "../../store/documents.ts";
import { toStruct } from "../../protocol/bus/shape/json-struct.ts";
import {
  checkExpected,
  checkSize,
  type Document,
  MAX_ENTRIES,
  type Metadata,
  type Storage,
  type StorageEntry,
  type StoredDocument,
  tooMany,
} from "./storage.ts";
import { storageFolder, storagePath } from "./storage.ts";
import { storagePattern } from "./storage.ts";

/**
 * Documents in a file of SQLite's. It keeps every version; one that is written anew after it was
 * deleted goes on counting, so nobody mistakes it for the old one. Without a pattern, `list` tells
 * of all documents.
 */
export class SqliteStorage implements Storage, Disposable {
  readonly #documents: Documents;

  private constructor(documents: Documents) {
    this.#documents = documents;
  }

  static async open(path: string): Promise<SqliteStorage> {
    return new SqliteStorage(await Documents.open(path));
  }

  async read(path: string): Promise<StoredDocument | undefined> {
    const row = await this.#documents.read(storagePath(path));
    if (row === undefined) return undefined;
    const { content, metadata, version } = row;
    if (metadata === undefined) return { content, version };
    return { content, metadata: JSON.parse(metadata) as Metadata, version };
  }

  async write(path: string, { content, metadata }: Document, expected: number): Promise<number> {
    const name = storagePath(path);
    checkSize(path, "write", content.length);
    const json = metadata === undefined ? {} : toStruct(metadata, "metadata");
    const text = Object.keys(json).length === 0 ? undefined : JSON.stringify(json);
    return this.#documents.put(name, { content, metadata: text }, (present) => {
      checkExpected(path, expected, present);
    });
  }

  async delete(path: string): Promise<boolean> {
    return this.#documents.delete(storagePath(path));
  }

  async list(folder: string, pattern = "*"): Promise<StorageEntry[]> {
    const isWanted = storagePattern(pattern);
    const rows = await this.#documents.list(storageFolder(folder));
    const wanted = rows.filter(({ path }) => isWanted(path.slice(path.lastIndexOf("/") + 1)));
    if (wanted.length > MAX_ENTRIES) throw tooMany(folder);
    return wanted.map(({ path, size, version, at }) => ({ path, size, version, modifiedAt: at }));
  }

  [Symbol.dispose](): void {
    this.#documents[Symbol.dispose]();
  }
}
