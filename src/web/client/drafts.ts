const PREFIX = "trunkline.draft/";

type Store = Pick<Storage, "getItem" | "setItem" | "removeItem" | "key" | "length">;

/** Texts that were begun and not sent, by a key: they survive a reload, other pages and a lost connection. */
export class Drafts {
  readonly #storage: Store | undefined;

  constructor(storage: Store | undefined) {
    this.#storage = storage;
  }

  get(key: string): string {
    return this.#storage?.getItem(PREFIX + key) ?? "";
  }

  /** Keeps a text; an empty one is forgotten. */
  keep(key: string, text: string): void {
    try {
      if (text === "") this.#storage?.removeItem(PREFIX + key);
      else this.#storage?.setItem(PREFIX + key, text);
    } catch {
      // If the storage is full or forbidden, the draft is lost only when the page is left.
    }
  }

  /** The ends of the keys that begin with a text. */
  keysAfter(beginning: string): string[] {
    const storage = this.#storage;
    const keys = Array.from({ length: storage?.length ?? 0 }, (_, at) => storage?.key(at) ?? "");
    const all = PREFIX + beginning;
    return keys.filter((key) => key.startsWith(all)).map((key) => key.slice(all.length));
  }
}
