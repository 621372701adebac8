import type { LogLevel } from "../base/log.ts";

/** A message for people that belongs to no call. */
export interface Notice {
  readonly level: LogLevel;
  readonly data: unknown;
  /** Whose it is. */
  readonly logger: string;
}

/**
 * What capabilities have to say to people outside of any call, for doors that can pass it on. Nobody
 * waits for anybody: whoever is not there misses it.
 */
export class Notices {
  readonly #listeners = new Set<{ readonly call: (notice: Notice) => void }>();

  post(notice: Notice): void {
    for (const listener of [...this.#listeners]) {
      try {
        listener.call(notice);
      } catch {
        // One that fails takes nothing from the others, nor from whoever posts.
      }
    }
  }

  /** Returns how to stop listening. */
  on(call: (notice: Notice) => void): () => void {
    const listener = { call };
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }
}
