import { atMost } from "../../base/at-most.ts";
import { background } from "../../base/background.ts";
import { TrunklineError } from "../../base/errors.ts";
import { Backoff } from "../../base/limit/backoff.ts";
import type { BidiStream, Connection } from "../../wire/quic/connection.ts";

export interface RedialOptions {
  /** Who is at the other end, in words that begin a sentence. */
  readonly name: string;
  readonly dial: (signal: AbortSignal) => Promise<Connection>;
  readonly connected?: (connection: Connection) => void;
  readonly lost?: (reason: Error) => void;
  /** Exchanges after which a connection is given up for a new one; each costs the next one more. */
  readonly mostExchanges?: number;
  /** Connections at once; when all are busy, what is asked waits for what was asked before. */
  readonly mostConnections?: number;
  /**
   * Another connection leads to it, too, and says whether it can be reached. This one is dialled
   * again only when it is used again.
   */
  readonly isKnown?: boolean;
}

const MOST_EXCHANGES = 5_000;
const MOST_CONNECTIONS = 8;
/** Milliseconds for another connection, where nothing is heard on one; then twice as many, up to a limit. */
const FIRST_PROBE = 200;
const LONGEST_PROBE = 10_000;
/** Milliseconds after which a connection that is lost was good, and is dialled again at once. */
const GOOD = 1_000;
/** Milliseconds; it is never left alone for good. */
const BACKOFF = { firstWait: 100, longestWait: 5_000, mostFailures: Infinity, rest: 5_000 };

/**
 * A connection that is there when it is wanted: dialled with the first use, dialled again when it
 * was lost, changed for a new one before it has grown slow, and joined by others while it carries
 * as much as one should.
 */
export class Redial implements AsyncDisposable {
  readonly #options: RedialOptions;
  readonly #mostExchanges: number;
  readonly #backoff = new Backoff(BACKOFF);
  readonly #stopping = new AbortController();
  readonly #draining = new Set<Connection>();
  readonly #further: FurtherConnections;
  /** Those who wait for it to come back. */
  readonly #waiting = new Set<PromiseWithResolvers<void>>();
  #current: Connection | undefined;
  #wasUp = false;
  #exchanges = 0;
  /** Wear of the present connection that did not get us a new one. */
  #forgiven = 0;
  #dialling: Promise<Connection> | undefined;
  #timer: NodeJS.Timeout | undefined;
  #failure: Error | undefined;
  #probing: Promise<void> | undefined;
  #probeTime = FIRST_PROBE;

  constructor(options: RedialOptions) {
    this.#options = options;
    this.#mostExchanges = options.mostExchanges ?? MOST_EXCHANGES;
    this.#wasUp = options.isKnown ?? false;
    this.#further = new FurtherConnections({
      dial: () => options.dial(this.#stopping.signal),
      connected: (connection) => this.#watch(connection),
      most: (options.mostConnections ?? MOST_CONNECTIONS) - 1,
      mostExchanges: this.#mostExchanges,
    });
  }

  get isUp(): boolean {
    return this.#current !== undefined && !this.#current.isClosed;
  }

  /** Opens an exchange. While the other side cannot be reached, whoever asks is told why at once. */
  open(): BidiStream | Promise<BidiStream> {
    const connection = this.get();
    if (!(connection instanceof Promise)) return connection.openStream();
    // Looked for anew: others have waited for the same one, and may have filled it meanwhile.
    return connection.then(() => this.open());
  }

  /** A connection for one exchange that is opened at once; a promise where there is none yet. */
  get(): Connection | Promise<Connection> {
    const current = this.#current;
    if (current === undefined || current.isClosed) {
      if (this.#timer !== undefined && this.#failure !== undefined) {
        return Promise.reject(this.#failure);
      }
      return this.#dial();
    }
    this.#count(current);
    if (current.openStreams < MOST_AT_ONCE) return current;
    const further = this.#further.get();
    if (further instanceof Promise) return further.then((found) => found ?? this.get());
    return further ?? current;
  }

  /** Waits until it is there again, for so many milliseconds; rejects with why it is not. */
  async back(patience: number): Promise<void> {
    this.#stopping.signal.throwIfAborted();
    if (this.isUp) return;
    const waiting = Promise.withResolvers<void>();
    this.#waiting.add(waiting);
    // It is tried with the backoff, or at once where nobody has noticed yet that it is gone.
    if (this.#timer === undefined) this.#dial().catch(() => {});
    try {
      const late = (): Error => this.#failure ?? this.#down("is not reachable");
      await atMost(patience, waiting.promise, late);
    } finally {
      this.#waiting.delete(waiting);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const over = this.#down("was closed on this side");
    this.#stopping.abort(over);
    for (const { reject } of this.#waiting) reject(over);
    clearTimeout(this.#timer);
    await Promise.all([this.#dialling?.catch(() => {}), this.#probing]);
    const further = this.#further[Symbol.asyncDispose]();
    const all = [...this.#draining, ...(this.#current === undefined ? [] : [this.#current])];
    this.#current = undefined;
    await Promise.all(all.map((connection) => connection.close(0, "client closed")));
    await further;
  }

  /** Counts an exchange. A worn connection serves until a new one is there. */
  #count(current: Connection): void {
    this.#exchanges++;
    const wear = Math.max(this.#exchanges, (current.wear ?? 0) - this.#forgiven);
    if (wear >= this.#mostExchanges) this.#dial().catch(() => {});
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
      // To whoever has used it, it is not news that it can be reached, but that it cannot.
      throw this.#wasUp ? (this.#failure ?? error) : error;
    }
  }

  #use(connection: Connection): void {
    const before = this.#current;
    const since = Date.now();
    this.#current = connection;
    this.#wasUp = true;
    this.#exchanges = 0;
    this.#forgiven = 0;
    this.#backoff.succeeded();
    this.#failure = undefined;
    this.#watch(connection);
    this.#options.connected?.(connection);
    for (const { resolve } of this.#waiting) resolve();
    if (before !== undefined && !before.isClosed) {
      this.#draining.add(before);
      background(
        before.drain().then(() => this.#draining.delete(before)),
        "Ending a connection",
      );
    }
    background(
      connection.closed.then((reason) => {
        if (this.#current !== connection || this.#stopping.signal.aborted) return;
        this.#current = undefined;
        this.#options.lost?.(reason);
        if (this.#options.isKnown === true) return;
        if (Date.now() - since < GOOD) this.#failed(reason);
        else this.#dial().catch(() => {});
      }),
      "Noting that a connection is closed",
    );
  }

  /**
   * A network that gives us another address, such as a NAT or another Wi-Fi, leaves a connection that
   * nobody answers on. Only a new one tells whether the other side is gone or only that way to it, so
   * a slow peer loses nothing.
   */
  #watch(connection: Connection): void {
    connection.watchQuiet?.(() => {
      this.#probing ??= this.#probe(connection).finally(() => {
        this.#probing = undefined;
      });
    });
  }

  async #probe(quiet: Connection): Promise<void> {
    const { signal } = this.#stopping;
    // A handshake whose first packet is lost waits a second before it sends it again.
    const late = AbortSignal.timeout(this.#probeTime);
    const dialling = this.#options.dial(AbortSignal.any([signal, late]));
    const other = await dialling.catch(() => undefined);
    // Over a slow network it takes longer.
    const longer = Math.min(this.#probeTime * 2, LONGEST_PROBE);
    this.#probeTime = other === undefined ? longer : FIRST_PROBE;
    if (other === undefined) return;
    const isFound = quiet.isQuiet === true && !signal.aborted;
    if (isFound && quiet === this.#current) this.#use(other);
    else await other.close(0, "client closed");
    if (isFound) quiet.giveUp?.();
  }

  #failed(reason: Error): void {
    if (this.#stopping.signal.aborted) return;
    // A connection that is only to be changed for a new one still serves.
    if (this.isUp) {
      this.#exchanges = 0;
      this.#forgiven = this.#current?.wear ?? 0;
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
