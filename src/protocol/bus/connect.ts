import { atMost, onAbort, untilAborted } from "../../base/abort.ts";
import { background } from "../../base/background.ts";
import { TrunklineError } from "../../base/errors.ts";
import { Backoff } from "../../base/limit/backoff.ts";
import { Deadline } from "../../base/limit/deadline.ts";
import { MAX_FRAME, PREFIX } from "../../wire/framing/length-prefixed.ts";
import { ConnectionError } from "../../wire/quic/connection-error.ts";
import type { BidiStream, Connection } from "../../wire/quic/connection.ts";
import {
  REFUSE_LONG_FRAME,
  type RequestInit,
  bodyOf,
  decodeResponse,
  encodeRequest,
} from "./codec.ts";
import { answersOn, noAnswer } from "./frame-stream.ts";
import type { PluginResponse } from "./plugin.gen.ts";

/** A request, by the name of its kind. */
export type BusRequest = NonNullable<RequestInit["request"]>;

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
    this.#redial = new Redial(options);
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
    const frame = encodeRequest({ requestId: this.#nextId(), request });
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
    const frame = encodeRequest({ requestId, request });
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
      bytes = await stream.readAll(most, REFUSE_LONG_FRAME);
    } catch (error) {
      throw reason ?? this.#lost(error);
    }
    return this.#read(bytes, requestId);
  }

  #read(bytes: Uint8Array, requestId: string): PluginResponse {
    let response: PluginResponse;
    try {
      response = decodeResponse(bodyOf(bytes));
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
export class Redial implements AsyncDisposable {
  readonly #options: RedialOptions;
  readonly #mostExchanges: number;
  readonly #backoff = new Backoff(BACKOFF);
  readonly #stopping = new AbortController();
  readonly #draining = new Set<Connection>();
  /** Connections in addition to the current one, dialled when that is full. */
  readonly #further = new Set<Connection>();
  /** Further connections that had no exchange at the last check. */
  readonly #idle = new Set<Connection>();
  #diallingFurther: Promise<void> | undefined;
  #idleTimer: NodeJS.Timeout | undefined;
  /** Callers that wait for the connection to come back. */
  readonly #waiting = new Set<PromiseWithResolvers<void>>();
  #current: Connection | undefined;
  #wasUp = false;
  #exchanges = 0;
  /** The wear at which a replacement could not be dialled. It is not counted again. */
  #forgiven = 0;
  #dialling: Promise<Connection> | undefined;
  #timer: NodeJS.Timeout | undefined;
  #failure: Error | undefined;

  constructor(options: RedialOptions) {
    this.#options = options;
    this.#mostExchanges = options.mostExchanges ?? MOST_EXCHANGES;
    this.#wasUp = options.isKnown ?? false;
  }

  get isUp(): boolean {
    return this.#current !== undefined && !this.#current.isClosed;
  }

  /** Opens an exchange. Rejects at once, with the reason, while the other side cannot be reached. */
  open(): BidiStream | Promise<BidiStream> {
    const connection = this.get();
    if (!(connection instanceof Promise)) return connection.openStream();
    // Other callers have waited for the same connection, and may have filled it.
    return connection.then(() => this.open());
  }

  /** A connection for an exchange that is opened at once; a promise if it has to be dialled first. */
  get(): Connection | Promise<Connection> {
    const current = this.#current;
    if (current === undefined || current.isClosed) {
      if (this.#timer !== undefined && this.#failure !== undefined) {
        return Promise.reject(this.#failure);
      }
      return this.#dial();
    }
    this.#count(current);
    return current.openStreams < MOST_AT_ONCE ? current : (this.#getFurther() ?? current);
  }

  /** A further connection with a free slot; dials one if all are full. Undefined if there are too many already. */
  #getFurther(): Connection | Promise<Connection> | undefined {
    for (const connection of this.#further) {
      if (connection.isClosed) continue;
      if ((connection.wear ?? 0) >= this.#mostExchanges) this.#drain(connection);
      else if (connection.openStreams < MOST_AT_ONCE) return connection;
    }
    const most = (this.#options.mostConnections ?? MOST_CONNECTIONS) - 1;
    if (this.#diallingFurther === undefined && this.#further.size >= most) return undefined;
    this.#diallingFurther ??= this.#connectFurther().finally(() => {
      this.#diallingFurther = undefined;
    });
    // Several callers may wait for the new connection; those that find it full try again.
    return this.#diallingFurther.then(() => this.get());
  }

  /** Waits until it is connected again, for so many milliseconds. Rejects with the reason if it is not. */
  async back(patience: number): Promise<void> {
    this.#stopping.signal.throwIfAborted();
    if (this.isUp) return;
    const waiting = Promise.withResolvers<void>();
    this.#waiting.add(waiting);
    // It is dialled by the backoff timer, or now if the loss was not noticed yet.
    if (this.#timer === undefined) this.#dial().catch(() => {});
    using ends = new DisposableStack();
    ends.defer(() => this.#waiting.delete(waiting));
    const late = (): Error => this.#failure ?? this.#down("is not reachable");
    await atMost(patience, waiting.promise, late);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const over = this.#down("was closed on this side");
    this.#stopping.abort(over);
    for (const { reject } of this.#waiting) reject(over);
    clearTimeout(this.#timer);
    clearInterval(this.#idleTimer);
    await Promise.allSettled([this.#dialling, this.#diallingFurther]);
    const current = this.#current === undefined ? [] : [this.#current];
    const all = [...this.#draining, ...this.#further, ...current];
    this.#current = undefined;
    await Promise.all(all.map((connection) => connection.close(0, "client closed")));
  }

  /** Counts an exchange. A worn connection is used until its replacement is connected. */
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
    this.#stopping.signal.throwIfAborted();
    clearTimeout(this.#timer);
    this.#timer = undefined;
    try {
      const connection = await this.#dialNew();
      this.#use(connection);
      return connection;
    } catch (error) {
      this.#failed(error instanceof Error ? error : new Error(String(error)));
      // After a first connection, the message says that it is tried again.
      throw this.#wasUp ? (this.#failure ?? error) : error;
    }
  }

  async #connectFurther(): Promise<void> {
    const connection = await this.#dialNew();
    this.#further.add(connection);
    background(
      connection.closed.then(() => this.#further.delete(connection)),
      "Forgetting a connection",
    );
    this.#idleTimer ??= setInterval(() => this.#closeIdle(), IDLE).unref();
  }

  #closeIdle(): void {
    for (const connection of this.#further) {
      if (connection.openStreams > 0) this.#idle.delete(connection);
      else if (this.#idle.delete(connection)) this.#drain(connection);
      else this.#idle.add(connection);
    }
    if (this.#further.size > 0) return;
    clearInterval(this.#idleTimer);
    this.#idleTimer = undefined;
  }

  async #dialNew(): Promise<Connection> {
    const { signal } = this.#stopping;
    const connection = await this.#options.dial(signal);
    if (!signal.aborted) return connection;
    await connection.close(0, "client closed");
    throw signal.reason as Error;
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
    this.#options.connected?.(connection);
    for (const { resolve } of this.#waiting) resolve();
    if (before !== undefined && !before.isClosed) this.#drain(before);
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

  #drain(connection: Connection): void {
    this.#draining.add(connection);
    background(
      connection.drain().then(() => this.#draining.delete(connection)),
      "Ending a connection",
    );
  }

  #failed(reason: Error): void {
    if (this.#stopping.signal.aborted) return;
    // A connection that was only to be replaced can still be used.
    if (this.isUp) {
      this.#exchanges = 0;
      this.#forgiven = this.#current?.wear ?? 0;
      return;
    }
    const wait = this.#backoff.failed();
    this.#failure = this.#down(`is not reachable; connecting again. ${reason.message}`);
    this.#timer = setTimeout(() => {
      this.#dial().catch(() => {});
    }, wait).unref();
  }

  #down(what: string): TrunklineError {
    return new TrunklineError("unavailable", `${this.#options.name} ${what}`);
  }
}
