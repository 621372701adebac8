import { attempt } from "../base/attempt.ts";
import type { LogLevel } from "../base/log.ts";
import type { Scope } from "../base/principal.ts";
import type { MessageDetails } from "./tool.ts";

/** A message for people that belongs to no call. */
export interface Notice {
  readonly level: LogLevel;
  readonly data: unknown;
  /** The part of the program that posts it. */
  readonly logger: string;
  readonly more?: MessageDetails;
  /** The other server that it comes from, or is about. */
  readonly server?: string;
  /** A sentence for people, where `data` is for programs. */
  readonly message?: string;
  /** Important enough for clients that have not asked for messages. */
  readonly isNews?: boolean;
  /** The scope that a listener's token must have; default `tools`. */
  readonly scope?: Scope;
  /** The only person to be told; everybody if left out. */
  readonly person?: string;
  /** Whether it is for a client that works in this folder; for all when left out. */
  readonly concerns?: (folder: string) => boolean;
}

/**
 * Notices of capabilities to people, outside of any call. Doors subscribe to them. Nothing is kept:
 * a client that connects later does not get earlier notices.
 */
export class Notices {
  readonly #listeners = new Set<{ readonly call: (notice: Notice) => void }>();
  readonly #posters: (() => void)[] = [];

  post(notice: Notice): void {
    for (const listener of [...this.#listeners]) {
      // A listener that throws must not keep the others from hearing, nor fail the sender.
      attempt(() => listener.call(notice));
    }
  }

  /** Returns how to stop listening. */
  on(call: (notice: Notice) => void): () => void {
    const listener = { call };
    this.#listeners.add(listener);
    for (const begin of this.#posters.splice(0)) begin();
    return () => this.#listeners.delete(listener);
  }

  /** Calls back when the first listener subscribes: before that, a source need not look for news. */
  whenHeard(begin: () => void): void {
    if (this.#listeners.size > 0) begin();
    else this.#posters.push(begin);
  }
}
