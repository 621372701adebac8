import { setTimeout as sleep } from "node:timers/promises";

import { background } from "../../../base/background.ts";
import { LostRequest } from "../../../rpc/pending-requests.ts";
import type { JsonObject } from "../json-object.ts";

/** Milliseconds to wait after a subscription has ended or its stream was lost. */
const AGAIN = 1_000;
/** The longest wait, after repeated losses. */
const LONGEST_WAIT = 30_000;

/**
 * The `subscriptions/listen` request to a server of 2026-07-28. It is opened again when the wanted
 * resources change, and when its stream is lost.
 */
export class ClientListening {
  readonly #listen: (notifications: JsonObject, signal: AbortSignal) => Promise<unknown>;
  readonly #kinds: JsonObject;
  readonly #missed: () => void;
  readonly #uris = new Set<string>();
  #current: AbortController | undefined;
  #isOver = false;
  #isDue = false;

  /** `missed` is called when there may have been changes that nobody heard of. */
  constructor(
    kinds: JsonObject,
    listen: (notifications: JsonObject, signal: AbortSignal) => Promise<unknown>,
    missed: () => void = () => {},
  ) {
    this.#kinds = kinds;
    this.#listen = listen;
    this.#missed = missed;
  }

  watch(uri: string): void {
    this.#uris.add(uri);
    this.renew();
  }

  unwatch(uri: string): void {
    if (this.#uris.delete(uri)) this.renew();
  }

  /** Opens the request for what is wanted now. Several changes in one turn make one request. */
  renew(): void {
    if (this.#isDue) return;
    this.#isDue = true;
    queueMicrotask(() => {
      this.#isDue = false;
      const before = this.#current;
      this.#current = new AbortController();
      if (!this.#isOver)
        background(this.#listenUntil(this.#current.signal), "Listening to a server");
      // Only after the new request is sent, so that nothing is missed in between.
      before?.abort(new Error("What is listened for has changed"));
    });
  }

  end(): void {
    this.#isOver = true;
    this.#current?.abort(new Error("The connection is closing"));
  }

  async #listenUntil(signal: AbortSignal): Promise<void> {
    const uris = [...this.#uris];
    const wanted = { ...this.#kinds, ...(uris.length > 0 ? { resourceSubscriptions: uris } : {}) };
    if (Object.keys(wanted).length === 0) return;
    for (let losses = 0; !signal.aborted && !this.#isOver;) {
      const began = performance.now();
      try {
        const listening = this.#listen(wanted, signal);
        if (losses > 0) this.#missed();
        await listening;
        losses = 0;
      } catch (error) {
        // Cancelled or not supported. When the connection has ended, a new one listens anew.
        if (!(error instanceof LostRequest)) return;
        losses = performance.now() - began > LONGEST_WAIT ? 1 : losses + 1;
      }
      const wait = Math.min(AGAIN * 2 ** Math.max(0, losses - 1), LONGEST_WAIT);
      await sleep(wait, undefined, { signal, ref: false }).catch(() => {});
    }
  }
}
