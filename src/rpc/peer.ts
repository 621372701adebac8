import { abortSignalOf, atMost, type StopSignal } from "../base/abort.ts";
import { type Rate, RateLimiter } from "../base/limit/rate-limiter.ts";
import { Deadline } from "../base/limit/deadline.ts";
import { TrunklineError } from "../base/errors.ts";
import {
  type Channel,
  type FrameFault,
  ROOM,
  type Room,
  type Sink,
  type Topic,
} from "../wire/channel.ts";
import { ACP, STANDARD, TRUNKLINE } from "./codes.ts";
import {
  type Dialect,
  type PeerLimits,
  type PeerOptions,
  type RequestObserver,
  resolvePeerLimits,
  type Trace,
  type RequestEnd,
} from "./peer-options.ts";
import { readElements } from "./message/envelope.ts";
import { errorText, faultError, RpcError, toRpcError } from "./rpc-error.ts";
import {
  type HeldId,
  type LostMessage,
  recoverMessage,
  recoverUnparsed,
  classify,
  parseMessage,
  refuseHuge,
} from "./message/message.ts";
import type { Method } from "./method.ts";
import { PendingRequests, type RequestLink, type RequestOptions } from "./pending-requests.ts";
import { refuse, shorten, type Route, type Routes, runRoute } from "./route.ts";

/**
 * One side of a JSON-RPC 2.0 conversation; both sides are the same class. It answers requests by its routes,
 * and sends requests with `request`. Every request gets exactly one answer.
 */
export class Peer<S = undefined> implements Sink<string>, RequestLink {
  readonly state: S;
  readonly requests: PendingRequests;
  readonly #channel: Channel<string>;
  readonly #routes: Routes<S>;
  readonly #dialect: Dialect;
  readonly #limits: PeerLimits;
  readonly #trace: Trace | undefined;
  readonly #observer: RequestObserver | undefined;
  readonly #sent: PeerOptions<S>["sent"];
  readonly #report: (event: string, fields: Record<string, unknown>) => void;
  /** Requests of the other side that have no answer yet. */
  readonly #inFlight = new Map<HeldId, Call<S>>();
  #idle: PromiseWithResolvers<void> | undefined;
  readonly #ended = Promise.withResolvers<void>();
  /** Resolves when the other side has finished sending, or is gone. */
  readonly ended = this.#ended.promise;
  /** The same, known at once: before whoever waits for answers learns that none will come. */
  hasEnded = false;
  #full: Room | undefined;
  readonly #errorThrottle: ErrorThrottle;
  #closing = false;

  constructor(channel: Channel<string>, state: S, options: PeerOptions<S>) {
    this.state = state;
    this.#channel = channel;
    this.#routes = options.routes;
    this.#dialect = options.dialect;
    this.#limits = resolvePeerLimits(options.limits);
    this.#errorThrottle = new ErrorThrottle(options.errorRate);
    this.#trace = options.trace;
    this.#observer = options.observer;
    this.#sent = options.sent;
    this.#report = options.report ?? (() => {});
    this.requests = new PendingRequests(this, options.firstId);
    channel.receive(options.receiver?.(this) ?? this);
  }

  /** Sends a request and waits for its answer. Rejects with an `RpcError` if the answer is an error. */
  request<P, R>(method: Method<P, R>, params: P, options: RequestOptions = {}): Promise<R> {
    // The method's own check makes the result an R.
    const answer = this.requests.request(method, params, options) as Promise<R>;
    this.#sent?.(method.name, params, answer);
    return answer;
  }

  /** Sends a notification. Resolves when there is room for more. */
  notify<P>(method: Method<P, void>, params: P, topic?: Topic): Room {
    return this.send(JSON.stringify({ jsonrpc: "2.0", method: method.name, params }), topic);
  }

  /** Tells the other side that an answer is no longer wanted. */
  cancel(requestId: number, reason: string): Room {
    const { method: name, param = "requestId" } = this.#dialect.cancel;
    return this.notify({ name }, { [param]: requestId, reason });
  }

  /** Answers what is in flight, waiting at most `grace` milliseconds, then flushes and closes. */
  async close(grace = 0): Promise<void> {
    this.#closing = true;
    await this.#drain(grace);
    const error = new TrunklineError("closed", "The connection is closing");
    for (const call of [...this.#inFlight.values()]) {
      this.#endCall(call, error, RpcError.of(TRUNKLINE.closed, "shutting down"));
    }
    this.requests.failAll(error);
    this.#errorThrottle.end();
    this.#ended.resolve();
    await this.#channel[Symbol.asyncDispose]();
  }

  /**
   * Called by the channel. A channel that had to parse the message passes its value too, or the error to
   * answer it with.
   */
  message(text: string, message = parseMessage(text, this.#limits)): void | Room {
    this.#trace?.received(message);
    if (message instanceof RpcError) this.#unread(text, message);
    else if (Array.isArray(message)) this.#batch(message, text);
    else this.#receive(message, text);
    const full = this.#full;
    this.#full = undefined;
    return full;
  }

  /** Called by the channel: a message that was not read whole. */
  fault(fault: FrameFault): void {
    this.#unreadable(recoverMessage(fault), faultError(fault));
  }

  /** Called by the channel: one request of ours gets no answer. */
  lost(id: string | number, error: Error): void {
    this.requests.fail(id, error);
  }

  /** Called by the channel. */
  end(error?: Error): void {
    this.hasEnded = true;
    const reason = new TrunklineError("closed", "The connection is closed", { cause: error });
    this.requests.failAll(reason);
    if (error !== undefined) {
      this.#report("rpc.connection-failed", { error: error.message });
      for (const call of [...this.#inFlight.values()]) this.#endCall(call, reason, undefined);
      this.#errorThrottle.end();
    }
    this.#ended.resolve();
  }

  /** JSON-RPC 2.0 § 5: where the id cannot be read, it is null. A text that is too complex has one. */
  #unread(text: string, error: RpcError): void {
    if (error.code === STANDARD.parse.code) this.#fail("null", error);
    else this.#unreadable(recoverUnparsed(text), error);
  }

  #unreadable({ idText, isResponse }: LostMessage, error: RpcError): void {
    if (!isResponse) return this.#fail(idText, error);
    const isMalformed = error.code === STANDARD.parse.code;
    const failure = isMalformed ? error : new TrunklineError("limit", error.message);
    if (this.requests.fail(JSON.parse(idText), failure)) return;
    this.#report("rpc.unknown-response", { id: idText, error: error.message });
  }

  #batch(messages: unknown[], text: string): void {
    const refusal = refuseBatch(messages.length, this.#dialect.batches, this.#limits.maxInFlight);
    if (refusal !== undefined) {
      this.#fail("null", RpcError.of(STANDARD.invalidRequest, refusal));
      return;
    }
    const batch = new Batch((answers, topic) => this.send(answers, topic));
    const texts = readElements(text);
    for (const [index, message] of messages.entries()) {
      this.#receive(message, texts[index] ?? "", batch);
    }
    batch.seal();
  }

  #receive(value: unknown, text: string, batch?: Batch): void {
    const message = classify(value, text, this.#dialect);
    switch (message.kind) {
      case "request":
        batch?.expect();
        this.#requested(message.method, message.params, message.id, text, batch);
        break;
      case "notification":
        this.#notified(message.method, message.params, text);
        break;
      case "answer": {
        const huge = refuseHuge([message.body.result, message.body.error], text);
        const isKnown =
          huge === undefined
            ? this.requests.settle(message.id, message.body)
            : this.requests.fail(message.id, new TrunklineError("limit", huge.message));
        if (!isKnown) this.#report("rpc.unknown-response", { id: message.id });
        break;
      }
      case "invalid":
        batch?.expect();
        this.#fail(message.id, RpcError.of(STANDARD.invalidRequest, message.why), batch);
        break;
    }
  }

  #requested(name: string, params: unknown, id: HeldId, text: string, batch?: Batch): void {
    const call = new Call<S>(this, name, params, id, batch);
    let result: unknown;
    let route: Route<S>;
    try {
      route = this.#routeFor(name, params, id, text);
      result = runRoute(route, params, call);
    } catch (error) {
      this.#failCall(call, this.#toRpcError(error, name));
      return;
    }
    if (!(result instanceof Promise)) return this.#answer(call, result);
    this.#inFlight.set(id, call);
    const { timeout } = route;
    if (timeout !== undefined) {
      call.limitTo(timeout, () => {
        const error = RpcError.of(ACP.timeout, `'${name}' took longer than ${timeout} ms`);
        this.#endCall(call, error, error);
      });
    }
    result.then(
      (value) => {
        if (this.#settle(call)) this.#answer(call, value);
      },
      (error: unknown) => {
        if (this.#settle(call)) this.#failCall(call, this.#toRpcError(error, name));
      },
    );
  }

  /** The route of a request. Throws the error to answer with if there is none. */
  #routeFor(name: string, params: unknown, id: HeldId, text: string): Route<S> {
    const route = this.#routes.get(name);
    if (route === undefined) {
      throw new RpcError(STANDARD.methodNotFound.code, this.#dialect.methodNotFound(shorten(name)));
    }
    if (this.#closing) throw RpcError.of(TRUNKLINE.closed, "shutting down");
    if (this.#inFlight.size >= this.#limits.maxInFlight) throw RpcError.of(TRUNKLINE.busy);
    if (this.#inFlight.has(id)) {
      const why = `id ${shorten(String(id))} belongs to a request in flight`;
      throw RpcError.of(STANDARD.invalidRequest, why);
    }
    const refusal = refuse(route, params, text);
    if (refusal !== undefined) throw refusal;
    return route;
  }

  #notified(name: string, params: unknown, text: string): void {
    if (name === this.#dialect.cancel.method) return this.#cancelled(params);
    const route = this.#routes.get(name);
    if (route === undefined) return;
    const dropped = (error: unknown): void => {
      this.#report("rpc.notification-failed", {
        method: name,
        error: this.#toRpcError(error, name).message,
      });
    };
    try {
      const refusal = refuse(route, params, text);
      if (refusal !== undefined) throw refusal;
      const result = runRoute(route, params, new Call<S>(this, name, params, ""));
      if (result instanceof Promise) result.catch(dropped);
    } catch (error) {
      dropped(error);
    }
  }

  #cancelled(params: unknown): void {
    const { param = "requestId" } = this.#dialect.cancel;
    const { [param]: requestId, reason } = params as Readonly<Record<string, unknown>>;
    if (typeof requestId !== "string" && typeof requestId !== "number") return;
    const call = this.#named(requestId);
    if (call === undefined) return;
    const { answer } = this.#dialect.cancel;
    const why = typeof reason === "string" ? reason : "The caller cancelled the request";
    const cancelled = new TrunklineError("cancelled", why);
    if (this.#routes.get(call.method)?.answersCancelled === true) call.stop(cancelled);
    else this.#endCall(call, cancelled, answer && RpcError.of(answer));
  }

  /** Marks a call as answered. False when it was: nothing answers twice. */
  #settle(call: Call<S>): boolean {
    if (call.isSettled) return false;
    call.settle();
    this.#inFlight.delete(call.id);
    if (this.#inFlight.size === 0) {
      this.#idle?.resolve();
      this.#idle = undefined;
    }
    return true;
  }

  /** Waits for all answers, at most `grace` milliseconds. */
  async #drain(grace: number): Promise<void> {
    if (this.#inFlight.size === 0 || grace <= 0) return;
    // Several callers may wait, each with its own limit.
    this.#idle ??= Promise.withResolvers<void>();
    const { promise } = this.#idle;
    await (Number.isFinite(grace) ? atMost(grace, promise) : promise);
  }

  /**
   * The call with a parsed id. Undefined for a number that JavaScript cannot hold, because several ids may be
   * parsed as that.
   */
  #named(id: string | number): Call<S> | undefined {
    if (Number.isSafeInteger(id)) return this.#inFlight.get(id);
    const exact = this.#inFlight.get(JSON.stringify(id));
    if (exact !== undefined || typeof id === "string") return exact;
    const alike = [...this.#inFlight.values()].filter((call) => Number(call.id) === id);
    return alike.length === 1 ? alike[0] : undefined;
  }

  /** Ends a call before its handler does. The handler is told; what it returns is dropped. */
  #endCall(call: Call<S>, reason: Error, answer: RpcError | undefined): void {
    if (!this.#settle(call)) return;
    call.stop(reason);
    if (answer !== undefined) return this.#failCall(call, answer);
    this.#observe(call, { isCancelled: true });
    call.batch?.skip();
  }

  #answer(call: Call<S>, result: unknown): void {
    let text: string | undefined;
    try {
      text = JSON.stringify(result);
    } catch (error) {
      this.#failCall(call, this.#toRpcError(error, call.method));
      return;
    }
    this.#observe(call, { result });
    const answer = `{"jsonrpc":"2.0","id":${call.id},"result":${text ?? "null"}}`;
    const topic = { request: String(call.id), isAnswer: true };
    if (call.batch === undefined) this.send(answer, topic);
    else call.batch.add(answer, topic);
  }

  #observe(call: Call<S>, end: RequestEnd): void {
    const { method, params, state, started } = call;
    this.#observer?.({ method, params, state, milliseconds: performance.now() - started, ...end });
  }

  #failCall(call: Call<S>, error: RpcError): void {
    this.#observe(call, { error: error.code });
    this.#fail(call.id, error, call.batch);
  }

  #fail(id: HeldId, error: RpcError, batch?: Batch): void {
    // A message that is no request need not be answered during the pause.
    const pause = this.#errorThrottle.taken();
    if (pause !== undefined) {
      this.#full = pause;
      if (id === "null") return;
    }
    const answer = `{"jsonrpc":"2.0","id":${id},"error":${errorText(error)}}`;
    const topic = { request: String(id), isAnswer: true, errorCode: error.code };
    if (batch === undefined) this.send(answer, topic);
    else batch.add(answer, topic);
  }

  send(text: string, topic?: Topic): Room {
    this.#trace?.sent(text);
    const room = this.#channel.send(text, topic);
    if (room !== ROOM) this.#full = room;
    return room;
  }

  #toRpcError(error: unknown, method: string): RpcError {
    return toRpcError(error, (correlationId, cause) => {
      this.#report("rpc.internal-error", { correlationId, method, error: cause });
    });
  }
}

/** Throttles a peer that causes too many errors: it is not read for a while. Without a rate, never. */
export class ErrorThrottle {
  readonly #errors: RateLimiter | undefined;
  #pause: PromiseWithResolvers<void> | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(rate: Rate | undefined) {
    this.#errors = rate && new RateLimiter(rate);
  }

  /** Counts an error. Returns a promise for the end of the pause, if there is one. */
  taken(): Promise<void> | undefined {
    const wait = this.#errors?.take("") ?? 0;
    if (wait === 0) return undefined;
    // The timer keeps the process alive: input that is not read does not.
    this.#timer ??= setTimeout(() => this.end(), wait);
    this.#pause ??= Promise.withResolvers<void>();
    return this.#pause.promise;
  }

  end(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#pause?.resolve();
    this.#pause = undefined;
  }
}

const NONE: readonly (() => void)[] = [];

/**
 * One incoming request or notification while it is being handled. It is stopped when the caller cancels, the
 * time is up or the connection dies, and tells that like a signal: an AbortSignal is an event target with maps
 * of its own, and to make and to collect one for each call takes longer than any other part of it.
 */
export class Call<S = unknown> implements StopSignal {
  readonly peer: Peer<S>;
  /** The state of the connection. */
  readonly state: S;
  readonly method: string;
  readonly params: unknown;
  /** For the peer: when it came. */
  readonly started = performance.now();
  /** Its JSON text is `String(id)`; "" for a notification. */
  readonly id: HeldId;
  /** For the peer: where the answer goes, when it is not sent alone. */
  readonly batch: Batch | undefined;
  /** It has its answer. */
  isSettled = false;
  aborted = false;
  reason: unknown;
  /** Few, and made anew with each: an empty list costs nothing. */
  #listeners = NONE;
  #signal: AbortSignal | undefined;
  #deadline: Deadline | undefined;

  constructor(peer: Peer<S>, method: string, params: unknown, id: HeldId, batch?: Batch) {
    this.peer = peer;
    this.state = peer.state;
    this.method = method;
    this.params = params;
    this.id = id;
    this.batch = batch;
  }

  /** The same as an AbortSignal, for what takes nothing else. */
  get signal(): AbortSignal {
    return (this.#signal ??= abortSignalOf(this));
  }

  addEventListener(_type: "abort", listener: () => void): void {
    this.#listeners = [...this.#listeners, listener];
  }

  removeEventListener(_type: "abort", listener: () => void): void {
    const at = this.#listeners.indexOf(listener);
    if (at >= 0) this.#listeners = this.#listeners.toSpliced(at, 1);
  }

  stop(reason: Error): void {
    if (this.aborted) return;
    this.aborted = true;
    this.reason = reason;
    // One may remove another.
    for (let [next] = this.#listeners; next !== undefined; [next] = this.#listeners) {
      this.removeEventListener("abort", next);
      next();
    }
  }

  /** Sends a notification that belongs to this call. */
  notify<P>(method: Method<P, void>, params: P): Room {
    return this.peer.notify(method, params, this.#topic);
  }

  /** Sends a request that this call needs. */
  request<P, R>(method: Method<P, R>, params: P, options: RequestOptions = {}): Promise<R> {
    return this.peer.request(method, params, { ...options, topic: this.#topic });
  }

  get #topic(): Topic {
    return { request: String(this.id), isAnswer: false };
  }

  /** Restarts the time limit, since the work has made progress. */
  progressed(): void {
    this.#deadline?.restart();
  }

  /** For the peer: the limit that runs for this call. */
  limitTo(milliseconds: number, expire: () => void): void {
    this.#deadline = new Deadline(milliseconds, expire);
  }

  /** For the peer: the call has its answer. */
  settle(): void {
    this.isSettled = true;
    this.#deadline?.stop();
    this.#deadline = undefined;
  }
}

/** Collects the answers to one batch and sends them together, once all are there (JSON-RPC 2.0 § 6). */
export class Batch {
  readonly #send: (text: string, topic: Topic) => unknown;
  readonly #answers: string[] = [];
  #open = 0;
  #sealed = false;
  #topic: Topic | undefined;

  /** Sends what was collected under the topic of its last answer. */
  constructor(send: (text: string, topic: Topic) => unknown) {
    this.#send = send;
  }

  /** One more answer will come. */
  expect(): void {
    this.#open++;
  }

  add(answer: string, topic: Topic): void {
    this.#answers.push(answer);
    this.#topic = topic;
    this.#open--;
    this.#finish();
  }

  /** An expected answer will not come: the dialect forbids it. */
  skip(): void {
    this.#open--;
    this.#finish();
  }

  /** The whole batch has been read. */
  seal(): void {
    this.#sealed = true;
    this.#finish();
  }

  #finish(): void {
    if (!this.#sealed || this.#open > 0 || this.#topic === undefined) return;
    this.#send(`[${this.#answers.join(",")}]`, this.#topic);
    this.#topic = undefined;
    this.#answers.length = 0;
  }
}

/** Why a batch is refused; undefined if it is not. */
export function refuseBatch(size: number, isKnown: boolean, most: number): string | undefined {
  if (size === 0) return "batch is empty";
  if (!isKnown) return "batches are not supported";
  // A batch may not have more messages than may be in flight.
  return size > most ? `batch of ${size} messages is over ${most}` : undefined;
}
