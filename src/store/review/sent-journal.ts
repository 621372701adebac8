import { closeSync, mkdirSync, openSync, readFileSync, rmSync, writeSync } from "node:fs";
import { join } from "node:path";

import type { Holder } from "../holder.ts";
import { parsedJson } from "../../base/check.ts";

/**
 * Records the messages that this process has sent, in a file of its own. Unlike the database it needs no
 * lock, so the record is there even if the process is killed right after sending. Other processes read
 * it when they find this one dead, and do not deliver these messages again.
 */
export class SentJournal {
  readonly #folder: string;
  readonly #holder: Pick<Holder, "id">;
  #file: number | undefined;
  #isTorn = false;

  constructor(data: string, holder: Pick<Holder, "id">) {
    this.#folder = join(data, "reviews-sent");
    this.#holder = holder;
  }

  /** Opens the file before a message is sent, so that the record is a single write. */
  prepare(): void {
    if (this.#file !== undefined) return;
    mkdirSync(this.#folder, { recursive: true, mode: 0o700 });
    this.#file = openSync(this.#pathOf(this.#holder.id), "a", 0o600);
  }

  note(note: Note): void {
    this.prepare();
    // After a partly written line, the next one starts on a new line.
    const line = Buffer.from(`${this.#isTorn ? "\n" : ""}${JSON.stringify(note)}\n`);
    const written = writeSync(this.#file ?? -1, line);
    this.#isTorn = written < line.length;
    if (this.#isTorn) throw new Error(`The disk took ${written} of ${line.length} bytes`);
  }

  /** The messages that a process has sent to a reader, and those that it was sending at the end. */
  notedBy(holder: string, reader: string): { sent: Set<number>; leaving: Set<number> } {
    let text = "";
    try {
      text = readFileSync(this.#pathOf(holder), "utf8");
    } catch {
      // Nothing was sent, or all of it is in the database.
    }
    const sent = new Set<number>();
    const leaving = new Set<number>();
    for (const line of text.split("\n")) {
      // An incomplete line is none.
      const note = parsedJson(line) as Note | undefined;
      if (note?.reader !== reader) continue;
      for (const message of note.messages) (note.isLeaving === true ? leaving : sent).add(message);
    }
    return { sent, leaving: leaving.difference(sent) };
  }

  /** Closes the file, and removes it if the database has all of it. */
  close(isInStore: boolean): void {
    if (this.#file === undefined) return;
    closeSync(this.#file);
    this.#file = undefined;
    if (isInStore) rmSync(this.#pathOf(this.#holder.id), { force: true });
  }

  #pathOf(holder: string): string {
    return join(this.#folder, `${holder.replaceAll(/[^\w.-]/g, "_")}.ndjson`);
  }
}

interface Note {
  readonly reader: string;
  readonly messages: readonly number[];
  /** They are about to be sent. */
  readonly isLeaving?: boolean;
}
