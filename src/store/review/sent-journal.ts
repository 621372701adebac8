import { closeSync, mkdirSync, openSync, readFileSync, rmSync, writeSync } from "node:fs";
import { join } from "node:path";

import type { Holder } from "../holder.ts";

/**
 * What has left a process, noted in a file of its own. The store has to wait for other writers; this
 * does not, and outlives the process being killed in the meantime. Whoever finds the process dead
 * reads in it what need not be given again.
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

  /** To be called before an answer leaves: noting it is a single write then. */
  prepare(): void {
    if (this.#file !== undefined) return;
    mkdirSync(this.#folder, { recursive: true, mode: 0o700 });
    this.#file = openSync(this.#pathOf(this.#holder.id), "a", 0o600);
  }

  note(reader: string, messages: readonly number[]): void {
    this.prepare();
    // A line that the disk took only the beginning of stays torn.
    const line = Buffer.from(
      `${this.#isTorn ? "\n" : ""}${JSON.stringify({ reader, messages })}\n`,
    );
    const written = writeSync(this.#file ?? -1, line);
    this.#isTorn = written < line.length;
    if (this.#isTorn) throw new Error(`The disk took ${written} of ${line.length} bytes`);
  }

  /** What a process had sent to a reader. */
  sentBy(holder: string, reader: string): Set<number> {
    let text = "";
    try {
      text = readFileSync(this.#pathOf(holder), "utf8");
    } catch {
      // It had sent nothing, or all of it is in the store.
    }
    const noted = text.split("\n").map(parseNote);
    return new Set(noted.flatMap((each) => (each?.reader === reader ? each.messages : [])));
  }

  /** Ends, and forgets it where all of it is in the store. */
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
}

/** Nothing of a line that is torn. */
function parseNote(line: string): Note | undefined {
  try {
    return JSON.parse(line) as Note;
  } catch {
    return undefined;
  }
}
