import type { NatsConnection } from "@nats-io/nats-core";

import { atMost, untilAborted } from "../../base/abort.ts";
import { background } from "../../base/background.ts";
import { TrunklineError } from "../../base/errors.ts";

const FIRST_PAUSE = 100;
const LONGEST_PAUSE = 5_000;

/**
 * Whether there is a connection to NATS. The client keeps messages in memory while there is none, so
 * nothing that is repeated may be given to it then.
 */
export class NatsLink implements Disposable {
  readonly #connection: NatsConnection;
  readonly #statuses: AsyncIterable<{ readonly type: string }> & { stop?: () => void };
  /** Aborted when the connection is lost; the next connection has another one. */
  #lost = new AbortController();
  /** Resolves with the next connection, or at the end. */
  #back = Promise.withResolvers<void>();
  #isOver = false;
  readonly #listeners = new Set<() => void>();

  constructor(connection: NatsConnection) {
    this.#connection = connection;
    this.#statuses = connection.status();
    background(this.#follow(), "Following the connection to NATS");
  }

  get isUp(): boolean {
    return !this.#lost.signal.aborted && !this.isClosed;
  }

  /** The connection was closed for good. */
  get isClosed(): boolean {
    return this.#isOver || this.#connection.isClosed();
  }

  /**
   * Asks NATS something. Throws "unavailable" while there is no connection, and an error as soon as it
   * is lost: no answer comes then.
   */
  async ask<T>(question: () => Promise<T>): Promise<T> {
    if (!this.isUp) throw notConnected();
    return await untilAborted(question(), this.#lost.signal);
  }

  /** Calls a function after each new connection, until it is disposed of. */
  onReconnect(listener: () => void): Disposable {
    this.#listeners.add(listener);
    return { [Symbol.dispose]: () => this.#listeners.delete(listener) };
  }

  /** Waits before an attempt is repeated, at most until the connection is there again. */
  readonly pause = async (attempt: number): Promise<void> => {
    if (this.isClosed) return;
    const wait = Math.min(FIRST_PAUSE * 2 ** (attempt - 1), LONGEST_PAUSE);
    await atMost(wait, this.#back.promise);
  };

  [Symbol.dispose](): void {
    this.#isOver = true;
    this.#statuses.stop?.();
    this.#back.resolve();
  }

  async #follow(): Promise<void> {
    for await (const { type } of this.#statuses) {
      if (this.#isOver) return;
      if (type === "disconnect" || type === "close") {
        this.#lost.abort(new Error("the connection was lost"));
      } else if (type === "reconnect") {
        this.#lost = new AbortController();
        this.#back.resolve();
        this.#back = Promise.withResolvers();
        for (const listener of this.#listeners) listener();
      }
    }
  }
}

function notConnected(): TrunklineError {
  const next = "Trunkline connects again as soon as NATS can be reached";
  return new TrunklineError("unavailable", `There is no connection to NATS. ${next}.`);
}
