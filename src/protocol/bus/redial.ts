import { Backoff } from "../../base/backoff.ts";
import { TrunklineError } from "../../base/errors.ts";
import type { Connection } from "../../wire/quic/connection.ts";

export interface RedialOptions {
  /** Who is at the other end, in words that begin a sentence. */
  readonly name: string;
  readonly dial: (signal: AbortSignal) => Promise<Connection>;
  readonly connected?: (connection: Connection) => void;
  readonly lost?: (reason: Error) => void;
  /** Exchanges after which a connection is given up for a new one; each costs the next one more. */
  readonly mostExchanges?: number;
}

const MOST_EXCHANGES = 5_000;
/** Milliseconds; it is never left alone for good. */
const BACKOFF = { firstWait: 100, longestWait: 5_000, mostFailures: Infinity, rest: 5_000 };

/**
 * A connection that is there when it is wanted: dialled with the first use, dialled again when it
 * was lost, and changed for a new one before it has grown slow.
 */
export class Redial implements AsyncDisposable {
  readonly #options: RedialOptions;
  readonly #mostExchanges: number;
  readonly #backoff = new Backoff(BACKOFF);
  readonly #stopping = new AbortController();
  readonly #draining = new Set<Connection>();
  #current: Connection | undefined;
  #exchanges = 0;
  #dialling: Promise<Connection> | undefined;
  #timer: NodeJS.Timeout | undefined;
  #failure: Error | undefined;

  constructor(options: RedialOptions) {
    this.#options = options;
    this.#mostExchanges = options.mostExchanges ?? MOST_EXCHANGES;
  }

  get isUp(): boolean {
    return this.#current !== undefined && !this.#current.isClosed;
  }

  /** A connection for one exchange. While it is down, whoever asks is told why at once. */
  get(): Connection | Promise<Connection> {
    const current = this.#current;
    if (current === undefined || current.isClosed) {
      if (this.#timer !== undefined && this.#failure !== undefined) {
        return Promise.reject(this.#failure);
      }
      return this.#dial();
    }
    // The old one serves until the new one is there.
    if (++this.#exchanges >= this.#mostExchanges) this.#dial().catch(() => {});
    return current;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopping.abort(this.#down("is no longer wanted"));
    clearTimeout(this.#timer);
    await this.#dialling?.catch(() => {});
    const all = [...this.#draining, ...(this.#current === undefined ? [] : [this.#current])];
    this.#current = undefined;
    await Promise.all(all.map((connection) => connection.close(0, "client closed")));
  }

  #dial(): Promise<Connection> {
    this.#dialling ??= this.#connect().finally(() => {
      this.#dialling = undefined;
    });
    return this.#dialling;
  }

  async #connect(): Promise<Connection> {
    const { signal } = this.#stopping;
    signal.throwIfAborted();
    clearTimeout(this.#timer);
    this.#timer = undefined;
    try {
      const connection = await this.#options.dial(signal);
      if (signal.aborted) {
        await connection.close(0, "client closed");
        throw signal.reason as Error;
      }
      this.#use(connection);
      return connection;
    } catch (error) {
      this.#failed(error instanceof Error ? error : new Error(String(error)));
      throw error;
    }
  }

  #use(connection: Connection): void {
    const before = this.#current;
    this.#current = connection;
    this.#exchanges = 0;
    this.#backoff.succeeded();
    this.#failure = undefined;
    this.#options.connected?.(connection);
    if (before !== undefined && !before.isClosed) {
      this.#draining.add(before);
      void before.drain().then(() => this.#draining.delete(before));
    }
    void connection.closed.then((reason) => {
      if (this.#current !== connection || this.#stopping.signal.aborted) return;
      this.#current = undefined;
      this.#options.lost?.(reason);
      this.#failed(reason);
    });
  }

  #failed(reason: Error): void {
    if (this.#stopping.signal.aborted) return;
    // A connection that is only to be changed for a new one still serves.
    if (this.isUp) {
      this.#exchanges = 0;
      return;
    }
    const wait = this.#backoff.failed();
    this.#failure = this.#down(`is not reachable, and is tried again. ${reason.message}`);
    this.#timer = setTimeout(() => {
      this.#dial().catch(() => {});
    }, wait).unref();
  }

  #down(what: string): TrunklineError {
    return new TrunklineError("unavailable", `${this.#options.name} ${what}`);
  }
}
