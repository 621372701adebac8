import { appendFileSync, mkdirSync, readFileSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";

import { thisProcess } from "./holder.ts";

/**
 * What has left a process, noted in a file of its own. The store has to wait for other writers; this
 * does not, and outlives the process being killed in the meantime. Whoever finds the process dead
 * reads in it what need not be given again.
 */
export class SentJournal implements Disposable {
  readonly #folder: string;
  readonly #path: string;

  constructor(data: string) {
    this.#folder = join(data, "reviews-sent");
    this.#path = this.#pathOf(thisProcess());
  }

  note(reader: string, messages: readonly number[]): void {
    const line = `${JSON.stringify({ reader, messages })}\n`;
    try {
      appendFileSync(this.#path, line, { mode: 0o600 });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
      mkdirSync(dirname(this.#path), { recursive: true, mode: 0o700 });
      appendFileSync(this.#path, line, { mode: 0o600 });
    }
  }

  /** What a process had sent to a reader. */
  sentBy(holder: string, reader: string): Set<number> {
    let text = "";
    try {
      text = readFileSync(this.#pathOf(holder), "utf8");
    } catch {
      // It had sent nothing, or all of it is in the store.
    }
    const lines = text.split("\n").slice(0, -1);
    const noted = lines.map((line) => JSON.parse(line) as { reader: string; messages: number[] });
    return new Set(noted.flatMap((each) => (each.reader === reader ? each.messages : [])));
  }

  /** All of it is in the store. */
  [Symbol.dispose](): void {
    rmSync(this.#path, { force: true });
  }

  #pathOf(holder: string): string {
    return join(this.#folder, `${holder.replaceAll(/[^\w.-]/g, "_")}.ndjson`);
  }
}
