import type { LogLevel } from "../base/log.ts";
import type { Scope } from "../base/principal.ts";

/** A message for people that belongs to no call. */
export interface Notice {
  readonly level: LogLevel;
  readonly data: unknown;
  /** Whose it is. */
  readonly logger: string;
  /** In words, where `data` is for programs. */
  readonly message?: string;
  /** News that is worth telling also those who have not asked for messages. */
  readonly isNews?: boolean;
  /** What a listener's token has to be good for; `tools` where it is left out. */
  readonly scope?: Scope;
}

/**
 * What capabilities have to say to people outside of any call, for doors that can pass it on. Nobody
 * waits for anybody: whoever is not there misses it.
 */
export class Notices {
  readonly #listeners = new Set<{ readonly call: (notice: Notice) => void }>();
  readonly #posters: (() => void)[] = [];

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
    for (const begin of this.#posters.splice(0)) begin();
    return () => {
      this.#listeners.delete(listener);
    };
  }

  /** Calls back with the first listener: until then, whoever has to look for news need not. */
  whenHeard(begin: () => void): void {
    if (this.#listeners.size > 0) begin();
    else this.#posters.push(begin);
  }
}
