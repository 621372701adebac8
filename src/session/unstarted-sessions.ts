import type { Log } from "../base/log.ts";
import type { SessionStore } from "./store.ts";

/** Removes what a session has beside its record, such as a workspace. */
type Forget = () => Promise<unknown>;

/** Sessions whose agent did not start, and which are still to be deleted with all that belongs to them. */
export class UnstartedSessions {
  readonly #store: SessionStore;
  readonly #log: Log;
  readonly #forgets = new Map<string, Forget>();

  constructor(store: SessionStore, log: Log) {
    this.#store = store;
    this.#log = log;
  }

  get ids(): readonly string[] {
    return [...this.#forgets.keys()];
  }

  has(id: string): boolean {
    return this.#forgets.has(id);
  }

  async delete(id: string, forget: Forget): Promise<void> {
    this.#forgets.set(id, forget);
    await this.deleteAll();
  }

  /**
   * Deletes them. What fails is retried with the next call; until then the record stays, by which the rest
   * is found if we are killed.
   */
  async deleteAll(): Promise<void> {
    for (const [id, forget] of this.#forgets) {
      try {
        await forget();
        await this.#store.delete(id);
        this.#forgets.delete(id);
      } catch (error) {
        this.#log.warn("session.not-deleted", { session: id, error });
      }
    }
  }
}
