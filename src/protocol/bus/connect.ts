import { atMost, onAbort, untilAborted } from "../../base/abort.ts";
import { background } from "../../base/background.ts";
import { TrunklineError } from "../../base/errors.ts";
import { Backoff } from "../../base/limit/backoff.ts";
import { Deadline } from "../../base/limit/deadline.ts";
import { MAX_FRAME, PREFIX } from "../../wire/framing/length-prefixed.ts";
import { ConnectionError } from "../../wire/quic/connection-error.ts";
import type { BidiStream, Connection } from "../../wire/quic/connection.ts";
import * as codec from "./codec.ts";
import { answersOn, noAnswer } from "./frame-stream.ts";
import type { PluginResponse } from "./plugin.gen.ts";

/** A request, by the name of its kind. */
export type BusRequest = NonNullable<codec.RequestInit["request"]>;

export interface BusClientOptions extends RedialOptions {
  /** Milliseconds to wait for an answer, or a piece of one, unless the request has its own timeout. */
  readonly patience?: number;
}

export interface AskOptions {
  /** Cancels the request. */
  readonly signal?: AbortSignal | undefined;
  /** Milliseconds to wait for the answer; default the client's patience. */
  readonly timeout?: number;
  /** Bytes of the answer; default the size of the largest frame. */
  readonly most?: number;
  /** Repeats the request once if the connection is lost: only for requests that are idempotent. */
  readonly again?: boolean;
}

export interface AskForManyOptions {
  readonly signal?: AbortSignal | undefined;
  /** Tells the other side to stop sending. Without it, the stream is reset. */
  readonly cancel?: () => void;
}

/** Milliseconds that a repeated request waits for a lost connection to come back. */
const COMING_BACK = 5_000;
/** The largest frame and its length. */
const MOST_BYTES = MAX_FRAME + PREFIX;
const CANCELLED = 1;

/** The client side of the bus: a stream for each request, on connections that are dialled again. */
export class BusClient implements AsyncDisposable {
  readonly #name: string;
  readonly #patience: number | undefined;
  readonly #redial: Redial;
  #lastId = 0;

  constructor(options: BusClientOptions) {
    this.#name = options.name;
    this.#patience = options.patience;
    this.#redial = newRedial(options);
  }

  get isUp(): boolean {
    return this.#redial.isUp;
  }

  /** Connects now, so that a failure is known before the first request. */
  async connect(): Promise<void> {
    await this.#redial.get();
  }

  /** Sends a request and waits for its answer. Rejects with `LostError` if the connection is lost. */
  async ask(request: BusRequest, options: AskOptions = {}): Promise<PluginResponse> {
    try {
      return await this.#once(request, options);
    } catch (error) {
      if (!(error instanceof LostError) || options.again !== true) throw error;
      const back = this.#redial.back(COMING_BACK).catch(() => Promise.reject(error));
      await untilAborted(back, options.signal);
      return await this.#once(request, options);
    }
  }

  /** Sends a request whose answer comes in pieces, until the reader has enough or it is cancelled. */
  async *askForMany(
    request: BusRequest,
    options: AskForManyOptions = {},
  ): AsyncGenerator<PluginResponse, void, void> {
    const { signal, cancel } = options;
    const frame = codec.encodeRequest({ requestId: this.#nextId(), request });
    const stream = await this.#redial.open();
    const sent = stream.end(frame);
    // A failure to send also ends the answers.
    sent.catch(() => {});
    yield* answersOn(stream, {
      signal,
      cancel,
      patience: this.#patience,
      whom: this.#asked(request),
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#redial[Symbol.asyncDispose]();
  }

  async #once(request: BusRequest, options: AskOptions): Promise<PluginResponse> {
    const requestId = this.#nextId();
    const frame = codec.encodeRequest({ requestId, request });
    const opening = this.#redial.open();
    const stream = opening instanceof Promise ? await opening : opening;
    const { signal, timeout = this.#patience, most = MOST_BYTES } = options;
    let reason: Error | undefined;
    const giveUp = (why: Error): void => {
      reason ??= why;
      stream.reset(CANCELLED);
    };
    using ends = new DisposableStack();
    if (timeout !== undefined) {
      const late = (): void => giveUp(noAnswer(timeout, this.#asked(request)));
      const deadline = new Deadline(timeout, late);
      ends.defer(() => deadline.stop());
    }
    ends.defer(onAbort(signal, giveUp));
    let bytes: Uint8Array;
    try {
      // Orchestra's Go server never reads an end that comes apart from the request, and leaks the stream.
      await stream.end(frame);
      bytes = await stream.readAll(most, codec.REFUSE_LONG_FRAME);
    } catch (error) {
      throw reason ?? this.#lost(error);
    }
    return this.#read(bytes, requestId);
  }

  #read(bytes: Uint8Array, requestId: string): PluginResponse {
    let response: PluginResponse;
    try {
      response = codec.decodeResponse(codec.bodyOf(bytes));
    } catch (error) {
      throw this.#unreadable(error as TrunklineError);
    }
    // Not all programs repeat the id. One that gives another id has mixed up its answers.
    if (response.requestId === "" || response.requestId === requestId) return response;
    const why = `${this.#name} gave the answer to '${response.requestId}', not to '${requestId}'`;
    throw new TrunklineError("unavailable", why);
  }

  #asked(request: BusRequest): string {
    // The name is made to begin a sentence; here it does not.
    const name = this.#name.charAt(0).toLowerCase() + this.#name.slice(1);
    return `${name} to '${request.case}'`;
  }

  #nextId(): string {
    return `trunkline-${++this.#lastId}`;
  }

  #lost(error: unknown): Error {
    if (error instanceof TrunklineError && error.code === "limit") return this.#unreadable(error);
    const isBrokenOff = error instanceof ConnectionError && error.trouble === "reset";
    const what = isBrokenOff ? "aborted the exchange" : "was lost";
    const why = error instanceof Error ? error.message : String(error);
    return new LostError(
      `${this.#name} ${what} before it had answered: the request may or may not have been carried out. ${why}`,
    );
  }

  #unreadable({ code, message }: TrunklineError): TrunklineError {
    return new TrunklineError(code, `${this.#name} gave no answer that can be read. ${message}`);
  }
}

/** The connection was lost before the answer came. */
export class LostError extends TrunklineError {
  constructor(message: string) {
    super("closed", message);
  }
}

interface RedialOptions {
  /** Who is at the other end, in words that begin a sentence. */
  readonly name: string;
  readonly dial: (signal: AbortSignal) => Promise<Connection>;
  readonly connected?: (connection: Connection) => void;
  readonly lost?: (reason: Error) => void;
  /** Exchanges after which a connection is replaced: each makes the next one slower. */
  readonly mostExchanges?: number;
  /** Connections at once; when all are busy, requests wait for earlier ones. */
  readonly mostConnections?: number;
  /**
   * Another connection to the same peer shows whether it can be reached. This one is dialled again only
   * when it is needed.
   */
  readonly isKnown?: boolean;
}

const MOST_EXCHANGES = 5_000;
const MOST_CONNECTIONS = 8;
/**
 * Exchanges that one connection carries at once. The other side limits them (Orchestra's programs to
 * 100), and more would wait for one of them to end.
 */
export const MOST_AT_ONCE = 64;
/** Milliseconds after which a further connection that is idle is closed. */
const IDLE = 10_000;
/** A connection that lasted so many milliseconds is dialled again at once when it is lost. */
const GOOD = 1_000;
/** In milliseconds. It never stops trying. */
const BACKOFF = { firstWait: 100, longestWait: 5_000, mostFailures: Infinity, rest: 5_000 };

/**
 * A connection that is dialled with its first use, dialled again when it is lost, replaced before it
 * becomes slow, and joined by further connections while it carries as many exchanges as one should.
 */
export type Redial = ReturnType<typeof newRedial>;

export function newRedial(options: RedialOptions) {
  const mostExchanges = options.mostExchanges ?? MOST_EXCHANGES;
  const backoff = new Backoff(BACKOFF);
  const stopping = new AbortController();
  const draining = new Set<Connection>();
  /** Connections in addition to the current one, dialled when that is full. */
  const further = new Set<Connection>();
  /** Further connections that had no exchange at the last check. */
  const idle = new Set<Connection>();
  let diallingFurther: Promise<void> | undefined;
  let idleTimer: NodeJS.Timeout | undefined;
  /** Callers that wait for the connection to come back. */
  const waiters = new Set<PromiseWithResolvers<void>>();
  let latest: Connection | undefined;
  let wasUp = options.isKnown ?? false;
  let exchanges = 0;
  /** The wear at which a replacement could not be dialled. It is not counted again. */
  let forgiven = 0;
  let dialling: Promise<Connection> | undefined;
  let timer: NodeJS.Timeout | undefined;
  let failure: Error | undefined;
  const isUp = (): boolean => latest !== undefined && !latest.isClosed;
  /** Opens an exchange. Rejects at once, with the reason, while the other side cannot be reached. */
  const open = (): BidiStream | Promise<BidiStream> => {
    const connection = get();
    if (!(connection instanceof Promise)) return connection.openStream();
    // Other callers have waited for the same connection, and may have filled it.
    return connection.then(() => open());
  };
  /** A connection for an exchange that is opened at once; a promise if it has to be dialled first. */
  const get = (): Connection | Promise<Connection> => {
    const current = latest;
    if (current === undefined || current.isClosed) {
      if (timer !== undefined && failure !== undefined) {
        return Promise.reject(failure);
      }
      return dial();
    }
    count(current);
    return current.openStreams < MOST_AT_ONCE ? current : (getFurther() ?? current);
  };
  /** A further connection with a free slot; dials one if all are full. Undefined if there are too many already. */
  const getFurther = (): Connection | Promise<Connection> | undefined => {
    for (const connection of further) {
      if (connection.isClosed) continue;
      if ((connection.wear ?? 0) >= mostExchanges) drain(connection);
      else if (connection.openStreams < MOST_AT_ONCE) return connection;
    }
    const most = (options.mostConnections ?? MOST_CONNECTIONS) - 1;
    if (diallingFurther === undefined && further.size >= most) return undefined;
    diallingFurther ??= connectFurther().finally(() => {
      diallingFurther = undefined;
    });
    // Several callers may wait for the new connection; those that find it full try again.
    return diallingFurther.then(() => get());
  };
  /** Counts an exchange. A worn connection is used until its replacement is connected. */
  const count = (current: Connection): void => {
    exchanges++;
    const wear = Math.max(exchanges, (current.wear ?? 0) - forgiven);
    if (wear >= mostExchanges) dial().catch(() => {});
  };
  const dial = (): Promise<Connection> => {
    dialling ??= connect().finally(() => {
      dialling = undefined;
    });
    return dialling;
  };
  const connect = async (): Promise<Connection> => {
    stopping.signal.throwIfAborted();
    clearTimeout(timer);
    timer = undefined;
    try {
      const connection = await dialNew();
      use(connection);
      return connection;
    } catch (error) {
      failed(error instanceof Error ? error : new Error(String(error)));
      // After a first connection, the message says that it is tried again.
      throw wasUp ? (failure ?? error) : error;
    }
  };
  const connectFurther = async (): Promise<void> => {
    const connection = await dialNew();
    further.add(connection);
    background(
      connection.closed.then(() => further.delete(connection)),
      "Forgetting a connection",
    );
    idleTimer ??= setInterval(() => closeIdle(), IDLE).unref();
  };
  const closeIdle = (): void => {
    for (const connection of further) {
      if (connection.openStreams > 0) idle.delete(connection);
      else if (idle.delete(connection)) drain(connection);
      else idle.add(connection);
    }
    if (further.size > 0) return;
    clearInterval(idleTimer);
    idleTimer = undefined;
  };
  const dialNew = async (): Promise<Connection> => {
    const { signal } = stopping;
    const connection = await options.dial(signal);
    if (!signal.aborted) return connection;
    await connection.close(0, "client closed");
    throw signal.reason as Error;
  };
  const use = (connection: Connection): void => {
    const before = latest;
    const since = Date.now();
    latest = connection;
    wasUp = true;
    exchanges = 0;
    forgiven = 0;
    backoff.succeeded();
    failure = undefined;
    options.connected?.(connection);
    for (const { resolve } of waiters) resolve();
    if (before !== undefined && !before.isClosed) drain(before);
    background(
      connection.closed.then((reason) => {
        if (latest !== connection || stopping.signal.aborted) return;
        latest = undefined;
        options.lost?.(reason);
        if (options.isKnown === true) return;
        if (Date.now() - since < GOOD) failed(reason);
        else dial().catch(() => {});
      }),
      "Noting that a connection is closed",
    );
  };
  const drain = (connection: Connection): void => {
    draining.add(connection);
    background(
      connection.drain().then(() => draining.delete(connection)),
      "Ending a connection",
    );
  };
  const failed = (reason: Error): void => {
    if (stopping.signal.aborted) return;
    // A connection that was only to be replaced can still be used.
    if (isUp()) {
      exchanges = 0;
      forgiven = latest?.wear ?? 0;
      return;
    }
    const wait = backoff.failed();
    failure = down(`is not reachable; connecting again. ${reason.message}`);
    timer = setTimeout(() => {
      dial().catch(() => {});
    }, wait).unref();
  };
  const down = (what: string): TrunklineError =>
    new TrunklineError("unavailable", `${options.name} ${what}`);
  return {
    get isUp(): boolean {
      return isUp();
    },
    open,
    get,
    /** Waits until it is connected again, for so many milliseconds. Rejects with the reason if it is not. */
    async back(patience: number): Promise<void> {
      stopping.signal.throwIfAborted();
      if (isUp()) return;
      const waiting = Promise.withResolvers<void>();
      waiters.add(waiting);
      // It is dialled by the backoff timer, or now if the loss was not noticed yet.
      if (timer === undefined) dial().catch(() => {});
      using ends = new DisposableStack();
      ends.defer(() => waiters.delete(waiting));
      const late = (): Error => failure ?? down("is not reachable");
      await atMost(patience, waiting.promise, late);
    },
    async [Symbol.asyncDispose](): Promise<void> {
      const over = down("was closed on this side");
      stopping.abort(over);
      for (const { reject } of waiters) reject(over);
      clearTimeout(timer);
      clearInterval(idleTimer);
      await Promise.allSettled([dialling, diallingFurther]);
      const current = latest === undefined ? [] : [latest];
      const all = [...draining, ...further, ...current];
      latest = undefined;
      await Promise.all(all.map((connection) => connection.close(0, "client closed")));
    },
  };
}
