import { attempt } from "../../base/attempt.ts";
import { onAbort } from "../../base/abort.ts";
import { TrunklineError } from "../../base/errors.ts";
import { ConnectionError } from "../../wire/quic/connection-error.ts";
import type { BidiStream, Connection } from "../../wire/quic/connection.ts";
import { type ResponseInit, decodeRequest, encodeResponse } from "./codec.ts";
import { FAILURE, failure, failureOf } from "./failure.ts";
import { type FrameTaker, readFrames } from "./frame-stream.ts";
import type { PluginRequest } from "./plugin.gen.ts";

type Request = PluginRequest["request"];
type Kind = NonNullable<Request["case"]>;
type ValueOf<K extends Kind> = Extract<Request, { case: K }>["value"];

/** The answer to a request; undefined for an empty one. */
export type Answer = NonNullable<ResponseInit["response"]> | undefined;

/** One request while it is being answered. */
export interface BusCall {
  readonly connection: Connection;
  /** Aborted when the caller has gone or has cancelled. */
  readonly signal: AbortSignal;
  /** The approximate memory of the request, in bytes. */
  readonly bytes: number;
  /** Sends one piece of the answer; what the handler returns is the last. */
  send(answer: NonNullable<Answer>): Promise<void>;
}

/** Handlers by kind of request. A missing kind is answered with `unknown_request`. */
export type BusHandlers = {
  readonly [K in Kind]?: (value: ValueOf<K>, call: BusCall) => Answer | Promise<Answer>;
};

export interface BusService {
  readonly handlers: BusHandlers;
  /** Reports internal errors, under the id that the caller is told. */
  readonly report: (event: string, fields: Record<string, unknown>) => void;
  /** Keeps the requests of one guest from delaying others. */
  readonly guard?: Guard;
}

export interface Guard {
  /** The ledger of the guest behind a connection. */
  ledgerOf(connection: Connection): Ledger;
  /** Begins work for the guest with that ledger, now or soon. */
  begin(ledger: Ledger, work: () => void): void;
}

const UNREADABLE = 2;
/** Bytes that a part of a parsed message takes, in addition to its own. */
const PART = 64;
/** Frames that may follow a request on its stream. Only one of them, `streamCancel`, has a meaning. */
const MOST_FURTHER = 16;

/** Answers the request on one stream. Whatever comes, only this stream is affected. */
export async function serveExchange(
  stream: BidiStream,
  connection: Connection,
  service: BusService,
): Promise<void> {
  const exchange = new Exchange(stream, connection, service);
  exchange.begin();
  try {
    await readFrames(stream, exchange);
  } catch (error) {
    // Once the request has arrived, `signal` tells its handler that the stream has failed. A connection
    // that ends before has asked nothing, so only an unreadable request is answered here.
    if (exchange.answered === undefined && !(error instanceof ConnectionError)) {
      await exchange.unread(error as Error);
    }
  } finally {
    await exchange.answered;
    exchange.end();
  }
}

/** One request and its answer. */
class Exchange implements FrameTaker, BusCall, IncompleteExchange {
  readonly connection: Connection;
  readonly #stream: BidiStream;
  readonly #service: BusService;
  readonly #controller = new AbortController();
  readonly signal = this.#controller.signal;
  #ledger: Ledger | undefined;
  bytes = 0;
  #further = 0;
  #requestId = "";
  #kind: Kind | undefined;
  /** Resolves when the answer was sent, or could not be. Undefined while there is no request. */
  answered: Promise<void> | undefined;

  constructor(stream: BidiStream, connection: Connection, service: BusService) {
    this.connection = connection;
    this.#stream = stream;
    this.#service = service;
  }

  begin(): void {
    this.#ledger = this.#service.guard?.ledgerOf(this.connection);
    this.#ledger?.begin(this);
  }

  end(): void {
    this.#ledger?.give(this.bytes);
    this.#ledger?.end(this);
  }

  giveUp(): void {
    this.#stream.reset(UNREADABLE);
  }

  received(bytes: number): void {
    this.#ledger?.take(bytes);
    this.bytes += bytes;
  }

  first(body: Buffer): void {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.answered = promise;
    const { guard } = this.#service;
    const take = (): void => resolve(this.#take(body));
    if (guard === undefined || this.#ledger === undefined) take();
    else guard.begin(this.#ledger, take);
  }

  further(body: Buffer): void {
    if (++this.#further > MOST_FURTHER) throw new Error("Too many frames follow the request");
    // A caller cancels on the stream of its request. Other kinds are ignored there.
    if (attempt(() => decodeRequest(body).request.case === "streamCancel", false)) {
      this.#controller.abort(new Error("The caller cancelled the stream"));
    }
  }

  async send(answer: NonNullable<Answer>): Promise<void> {
    const frame = this.#frameOf(answer);
    this.#ledger?.take(frame.length);
    try {
      await this.#stream.write(frame);
    } finally {
      this.#ledger?.give(frame.length);
    }
  }

  /** Answers an unreadable or refused request with a failure, if the other side still listens. */
  async unread(error: Error): Promise<void> {
    const { message } = error;
    this.#report("bus.unreadable", { error: message });
    try {
      const code = error instanceof OverLimitError ? error.code : FAILURE.unknownRequest;
      await this.#stream.end(this.#frameOf({ case: "toolCall", value: failure(code, message) }));
    } catch {
      // The other side has gone.
    }
    this.#stream.reset(UNREADABLE);
  }

  /** Answers the request, or says why it cannot be read or may not run. */
  async #take(body: Buffer): Promise<void> {
    using running = new DisposableStack();
    let request: Request;
    try {
      this.#ledger?.run(this);
      running.defer(() => this.#ledger?.done());
      request = this.#read(body);
    } catch (error) {
      return await this.unread(error as Error);
    }
    return await this.#answer(request);
  }

  #read(body: Buffer): Request {
    const { requestId, request } = decodeRequest(body, (parts) => this.received(parts * PART));
    this.#requestId = requestId;
    this.#kind = request.case;
    onAbort(this.#stream.signal, (reason) => this.#controller.abort(reason));
    return request;
  }

  async #answer(request: Request): Promise<void> {
    let answer: Answer;
    try {
      const working = this.#handle(request);
      answer = working instanceof Promise ? await working : working;
    } catch (error) {
      return this.#send(this.#failed(error));
    }
    let last: Buffer;
    try {
      last = this.#frameOf(answer);
      this.received(last.length);
    } catch (error) {
      last = this.#failed(error);
    }
    return this.#send(last);
  }

  async #send(last: Buffer): Promise<void> {
    try {
      await this.#stream.end(last);
    } catch (error) {
      this.#report("bus.unanswered", { kind: this.#kind, error: (error as Error).message });
      this.#stream.reset();
    }
  }

  #handle(request: Request): Answer | Promise<Answer> {
    const handler = request.case === undefined ? undefined : this.#service.handlers[request.case];
    if (handler === undefined) {
      const value = failure(FAILURE.unknownRequest, "unrecognized request type");
      return { case: "toolCall", value };
    }
    // The table holds for each kind the handler of its value.
    return (handler as (value: unknown, call: BusCall) => Answer | Promise<Answer>)(
      request.value,
      this,
    );
  }

  #failed(error: unknown): Buffer {
    const value = failureOf(error, (correlationId, cause) => {
      this.#report("bus.internal-error", { correlationId, kind: this.#kind, error: cause });
    });
    try {
      return this.#frameOf({ case: "toolCall", value });
    } catch {
      // The message is too long, or no valid text.
      const code = FAILURE.handler;
      return this.#frameOf({
        case: "toolCall",
        value: failure(code, "The failure could not be described"),
      });
    }
  }

  #frameOf(answer: Answer): Buffer {
    const response = answer === undefined ? {} : { response: answer };
    return encodeResponse({ requestId: this.#requestId, ...response });
  }

  #report(event: string, fields: Record<string, unknown>): void {
    const peer = this.connection.peer?.name ?? "a client without a certificate";
    this.#service.report(event, { peer, ...fields });
  }
}

export interface LedgerLimits {
  /** Requests that run at once; as many more may have arrived in part. */
  readonly exchanges: number;
  /** Bytes of requests that run, and of answers that are not sent yet. */
  readonly bytes: number;
}

/** An exchange whose request has not arrived whole. */
export interface IncompleteExchange {
  giveUp(): void;
}

/**
 * Counts the requests and bytes of one guest, on all of its connections. Whatever exceeds the limits is
 * refused at once, so that it delays nobody else.
 */
export class Ledger {
  readonly #limits: LedgerLimits;
  /** Exchanges whose request has not arrived whole, the oldest first. */
  readonly #begun = new Set<IncompleteExchange>();
  exchanges = 0;
  bytes = 0;

  constructor(limits: LedgerLimits) {
    this.#limits = limits;
  }

  /** Whether there are no requests and no bytes. */
  get isIdle(): boolean {
    return this.#begun.size === 0 && this.exchanges === 0 && this.bytes === 0;
  }

  /** A request begins to arrive. If there are too many of these, the oldest is reset. */
  begin(exchange: IncompleteExchange): void {
    this.#begun.add(exchange);
    if (this.#begun.size <= this.#limits.exchanges) return;
    const [oldest] = this.#begun;
    if (oldest === undefined) return;
    this.#begun.delete(oldest);
    oldest.giveUp();
  }

  /** The request will not arrive. */
  end(exchange: IncompleteExchange): void {
    this.#begun.delete(exchange);
  }

  /** A request has arrived and runs. Throws "limit" if too many run. */
  run(exchange: IncompleteExchange): void {
    this.#begun.delete(exchange);
    const { exchanges } = this.#limits;
    if (this.exchanges >= exchanges) {
      throw new OverLimitError(`you have ${exchanges} requests running, the most at once`);
    }
    this.exchanges++;
  }

  done(): void {
    this.exchanges--;
  }

  /** Counts bytes. Throws "limit", and counts none, if they are too many. */
  take(bytes: number): void {
    const limit = this.#limits.bytes;
    if (this.bytes + bytes > limit) {
      throw new OverLimitError(
        `your requests and answers have over ${limit} bytes, the most at once`,
      );
    }
    this.bytes += bytes;
  }

  give(bytes: number): void {
    this.bytes -= bytes;
  }
}

/** A guest has reached one of its limits. */
export class OverLimitError extends TrunklineError {
  constructor(why: string) {
    super("limit", `Cannot take the request: ${why}. Wait for some to end.`);
  }
}
