import type { Log } from "../base/log.ts";
import type { SessionStore } from "./store.ts";

/** Sessions whose agent did not start, and which are still to be deleted. */
export class UnstartedSessions {
  readonly #store: SessionStore;
  readonly #log: Log;
  readonly #ids = new Set<string>();

  constructor(store: SessionStore, log: Log) {
    this.#store = store;
    this.#log = log;
  }

  get ids(): ReadonlySet<string> {
    return this.#ids;
  }

  async delete(id: string): Promise<void> {
    this.#ids.add(id);
    await this.deleteAll();
  }

  /** Deletes them. What fails is retried with the next call. */
  async deleteAll(): Promise<void> {
    for (const id of [...this.#ids]) {
      try {
        await this.#store.delete(id);
        this.#ids.delete(id);
      } catch (error) {
        this.#log.warn("session.not-deleted", { session: id, error });
        return;
      }
    }
  }
}
