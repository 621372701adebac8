import type { NatsConnection } from "@nats-io/nats-core";

import { atMost } from "../../base/abort.ts";
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
  #isUp = true;
  #isOver = false;
  readonly #paused = new Set<() => void>();
  readonly #asking = new Set<() => void>();
  readonly #listeners = new Set<() => void>();

  constructor(connection: NatsConnection) {
    this.#connection = connection;
    this.#statuses = connection.status();
    background(this.#follow(), "Following the connection to NATS");
  }

  get isUp(): boolean {
    return this.#isUp && !this.isClosed;
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
    const { promise, reject } = Promise.withResolvers<never>();
    const giveUp = (): void => reject(new Error("the connection was lost"));
    this.#asking.add(giveUp);
    try {
      return await Promise.race([question(), promise]);
    } finally {
      this.#asking.delete(giveUp);
    }
  }

  /** Calls a function after each new connection, until it is disposed of. */
  onReconnect(listener: () => void): Disposable {
    this.#listeners.add(listener);
    return { [Symbol.dispose]: () => this.#listeners.delete(listener) };
  }

  /** Waits before an attempt is repeated, at most until the connection is there again. */
  readonly pause = async (attempt: number): Promise<void> => {
    if (this.isClosed) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    const wait = Math.min(FIRST_PAUSE * 2 ** (attempt - 1), LONGEST_PAUSE);
    this.#paused.add(resolve);
    await atMost(wait, promise);
    this.#paused.delete(resolve);
  };

  [Symbol.dispose](): void {
    this.#isOver = true;
    this.#statuses.stop?.();
    this.#wake();
  }

  async #follow(): Promise<void> {
    for await (const { type } of this.#statuses) {
      if (this.#isOver) return;
      if (type === "disconnect" || type === "close") {
        this.#isUp = false;
        for (const giveUp of this.#asking) giveUp();
      } else if (type === "reconnect") {
        this.#isUp = true;
        this.#wake();
        for (const listener of this.#listeners) listener();
      }
    }
  }

  #wake(): void {
    for (const resolve of this.#paused) resolve();
  }
}

function notConnected(): TrunklineError {
  const next = "Trunkline connects again as soon as NATS can be reached";
  return new TrunklineError("unavailable", `There is no connection to NATS. ${next}.`);
}
