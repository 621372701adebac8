import { createHash } from "node:crypto";

import type { Database } from "../../store/database.ts";
import { fromKept } from "../../store/review/reviews-rows.ts";
import type { Decide, SharedKind, SharedRows, SharedText } from "./shared-kind.ts";
import { versionOf } from "./rule-kind.ts";

/** The texts of files that are commented on, by git's ids of them. A text never changes. */
export class TextKind implements SharedKind {
  readonly name = "text";
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  stamp(): Promise<unknown> {
    return this.#database.read((database) => versionOf(database));
  }

  /** The texts of the threads that were opened since. */
  read(since?: unknown): Promise<SharedRows> {
    return this.#database.read((database) => {
      const rows = database
        .prepare(
          `SELECT blob, content FROM text
           WHERE blob IN (SELECT blob FROM thread WHERE opened > ?)`,
        )
        .all(Number(since ?? 0))
        .map(({ blob, content }) => [String(blob), encoded(content as Uint8Array)] as const)
        .filter(([blob]) => ID.test(blob));
      const last = database.prepare("SELECT max(opened) AS last FROM thread").get();
      return { rows: new Map(rows), isWhole: false, end: Number(last?.last ?? 0) };
    });
  }

  change(keys: readonly string[], decide: Decide): Promise<ReadonlyMap<string, SharedText>> {
    return this.#database.change((database) => {
      const find = database.prepare("SELECT content FROM text WHERE blob = ?");
      const insert = database.prepare("INSERT OR IGNORE INTO text (blob, content) VALUES (?, ?)");
      const result = new Map<string, SharedText>();
      for (const key of keys) {
        const row = find.get(key);
        const local = row && encoded(row.content as Uint8Array);
        const next = decide(key, local);
        const kept = Buffer.from(next ?? "", "base64");
        const isText = next !== undefined && isTextOf(kept, key);
        if (isText) insert.run(key, kept);
        result.set(key, local ?? (isText ? next : undefined));
      }
      return result;
    });
  }

  merge(local: SharedText, shared: SharedText): SharedText {
    return shared ?? local;
  }
}

const ID = /^[0-9a-f]{40}$/;

/** Bytes of a text that another node has sent: a short message may unpack to any length. */
const LONGEST = 64 * 1024 * 1024;

/** Whether it is the text of this blob id. Texts are found by it, and a node could replace those of others. */
function isTextOf(kept: Uint8Array, blob: string): boolean {
  try {
    const text = fromKept(kept, LONGEST);
    const git = createHash("sha1").update(`blob ${text.length}\0`).update(text);
    return git.digest("hex") === blob;
  } catch {
    return false;
  }
}

function encoded(content: Uint8Array): string {
  return Buffer.from(content).toString("base64");
}
