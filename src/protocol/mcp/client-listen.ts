import { setTimeout as sleep } from "node:timers/promises";

import { type JsonObject } from "./client.ts";

/** How long to wait after a server has ended a subscription by itself. */
const AGAIN = 1_000;

/**
 * Hears of changes at a server of 2026-07-28: one `subscriptions/listen` that lasts, begun anew when
 * what is wanted changes.
 */
export class ClientListening {
  readonly #listen: (notifications: JsonObject, signal: AbortSignal) => Promise<unknown>;
  readonly #kinds: JsonObject;
  readonly #uris = new Set<string>();
  #current: AbortController | undefined;
  #isOver = false;
  #isDue = false;

  constructor(
    kinds: JsonObject,
    listen: (notifications: JsonObject, signal: AbortSignal) => Promise<unknown>,
  ) {
    this.#kinds = kinds;
    this.#listen = listen;
  }

  watch(uri: string): void {
    this.#uris.add(uri);
    this.renew();
  }

  unwatch(uri: string): void {
    if (this.#uris.delete(uri)) this.renew();
  }

  /** Listens for what is wanted now. Several wishes of one turn make one request. */
  renew(): void {
    if (this.#isDue) return;
    this.#isDue = true;
    queueMicrotask(() => {
      this.#isDue = false;
      const before = this.#current;
      this.#current = new AbortController();
      if (!this.#isOver) void this.#last(this.#current.signal);
      // Only now, so that nothing is missed between the two.
      before?.abort(new Error("What is listened for has changed"));
    });
  }

  end(): void {
    this.#isOver = true;
    this.#current?.abort(new Error("The connection is closing"));
  }

  async #last(signal: AbortSignal): Promise<void> {
    const uris = [...this.#uris];
    const wanted = { ...this.#kinds, ...(uris.length > 0 ? { resourceSubscriptions: uris } : {}) };
    if (Object.keys(wanted).length === 0) return;
    while (!signal.aborted && !this.#isOver) {
      try {
        await this.#listen(wanted, signal);
        await sleep(AGAIN, undefined, { signal, ref: false });
      } catch {
        // Cancelled, not supported or cut off: a new connection listens anew.
        return;
      }
    }
  }
}
