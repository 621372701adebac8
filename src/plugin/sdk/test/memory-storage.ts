import {
  checkExpected,
  checkSize,
  type Document,
  type Storage,
  type StorageEntry,
  type StoredDocument,
} from "../../storage/storage.ts";
import { storageFolder, storagePath } from "../../storage/storage-path.ts";
import { storagePattern } from "../../storage/storage-pattern.ts";

/** Documents that last as long as a test. */
export class MemoryStorage implements Storage {
  readonly #documents = new Map<string, StoredDocument & { readonly modifiedAt: Date }>();

  async read(path: string): Promise<StoredDocument | undefined> {
    return this.#documents.get(storagePath(path));
  }

  async write(path: string, document: Document, expected: number): Promise<number> {
    const name = storagePath(path);
    checkSize(path, "write", document.content.length);
    const present = this.#documents.get(name)?.version;
    checkExpected(path, expected, present);
    const version = (present ?? 0) + 1;
    this.#documents.set(name, { ...document, version, modifiedAt: new Date() });
    return version;
  }

  async delete(path: string): Promise<boolean> {
    return this.#documents.delete(storagePath(path));
  }

  async list(folder: string, pattern = "*"): Promise<StorageEntry[]> {
    const isWanted = storagePattern(pattern);
    const prefix = storageFolder(folder);
    return [...this.#documents]
      .filter(([path]) => prefix === "" || path.startsWith(`${prefix}/`))
      .filter(([path]) => isWanted(path.slice(path.lastIndexOf("/") + 1)))
      .map(([path, { content, version, modifiedAt }]) => ({
        path,
        size: content.length,
        version,
        modifiedAt,
      }))
      .toSorted((a, b) => (a.path < b.path ? -1 : 1));
  }
}
