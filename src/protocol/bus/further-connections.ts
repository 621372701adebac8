import { background } from "../../base/background.ts";
import { TrunklineError } from "../../base/errors.ts";
import type { Connection } from "../../wire/quic/connection.ts";

/**
 * Exchanges that one connection carries at once. The other side lets only so many run, and more
 * would wait for one of them to end: Orchestra's programs allow 100.
 */
export const MOST_AT_ONCE = 64;
/** Milliseconds after which a connection that carried nothing is closed. */
const IDLE = 10_000;

export interface FurtherConnectionsOptions {
  readonly dial: () => Promise<Connection>;
  readonly connected?: (connection: Connection) => void;
  /** Besides the first. */
  readonly most: number;
  /** Exchanges after which a connection is given up for a new one. */
  readonly mostExchanges: number;
}

/** Connections beside the first, dialled when that carries as much as one connection should. */
export class FurtherConnections implements AsyncDisposable {
  readonly #options: FurtherConnectionsOptions;
  readonly #open = new Set<Connection>();
  readonly #idle = new Set<Connection>();
  #dialling: Promise<Connection> | undefined;
  #timer: NodeJS.Timeout | undefined;
  #isOver = false;

  constructor(options: FurtherConnectionsOptions) {
    this.#options = options;
  }

  /** One with room; one more where none has any. Undefined where there are as many as there may be. */
  get(): Connection | Promise<Connection | undefined> | undefined {
    for (const connection of this.#open) {
      if (connection.isClosed) continue;
      if ((connection.wear ?? 0) >= this.#options.mostExchanges)
        background(connection.drain(), "Ending a connection");
      else if (connection.openStreams < MOST_AT_ONCE) return connection;
    }
    if (this.#dialling === undefined && this.#open.size >= this.#options.most) return undefined;
    // Many may wait for the one that is dialled: those it has no room for come here again.
    return this.#dial().then(() => this.get());
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isOver = true;
    clearInterval(this.#timer);
    await this.#dialling?.catch(() => {});
    await Promise.all([...this.#open].map((connection) => connection.close(0, "client closed")));
  }

  #dial(): Promise<Connection> {
    this.#dialling ??= this.#connect().finally(() => {
      this.#dialling = undefined;
    });
    return this.#dialling;
  }

  async #connect(): Promise<Connection> {
    const connection = await this.#options.dial();
    this.#open.add(connection);
    this.#options.connected?.(connection);
    background(
      connection.closed.then(() => this.#open.delete(connection)),
      "Forgetting a connection",
    );
    if (this.#isOver) {
      await connection.close(0, "client closed");
      throw new TrunklineError("closed", "The connection was closed on this side");
    }
    this.#timer ??= setInterval(() => this.#closeIdle(), IDLE).unref();
    return connection;
  }

  #closeIdle(): void {
    for (const connection of this.#open) {
      if (connection.openStreams > 0) this.#idle.delete(connection);
      else if (this.#idle.delete(connection)) background(connection.drain(), "Ending a connection");
      else this.#idle.add(connection);
    }
    if (this.#open.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }
}
