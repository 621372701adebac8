import { background } from "../../base/background.ts";
import { LostRequest } from "../../rpc/pending-requests.ts";
import {
  type Channel,
  type ChannelLimits,
  resolveChannelLimits,
  ROOM,
  type Room,
  type Sink,
} from "../../wire/channel.ts";
import { AnswerQueue } from "./answer-queue.ts";
import type { HttpChannelOptions } from "./http-channel.ts";
import { type Exchange, exchange, type HttpFailure } from "./http-exchange.ts";
import { messagesOf, pendingFor } from "./http-pending.ts";

/** Milliseconds for the server to take a message: what it answers comes on the stream. */
const LONGEST_TAKING = 30_000;

/**
 * The client's side of HTTP+SSE, the transport of 2024-11-05 that some servers still have: all that
 * the server says comes on one stream, whose first event tells where to post to.
 */
export class SseChannel implements Channel<string> {
  readonly #url: URL;
  readonly #options: HttpChannelOptions;
  readonly #limits: ChannelLimits;
  readonly #open = new Set<Exchange>();
  readonly #answers: AnswerQueue;
  readonly #ended = Promise.withResolvers<string>();
  #sink: Sink<string> | undefined;
  #endpoint: URL | undefined;
  /** What was sent before it was known where to. */
  #queue: string[] = [];
  #isClosed = false;

  constructor(url: URL, options: HttpChannelOptions) {
    this.#url = url;
    this.#options = options;
    this.#limits = resolveChannelLimits(options.limits);
    this.#answers = new AnswerQueue(
      (text, done) => this.#post(text, done),
      this.#limits,
      (error) => this.abort(error),
    );
  }

  /** Why it is over, in words that complete "it …". */
  get ended(): Promise<string> {
    return this.#ended.promise;
  }

  receive(sink: Sink<string>): void {
    this.#sink = sink;
    let status = 0;
    const request = exchange(
      {
        url: this.#url,
        method: "GET",
        headers: { ...this.#options.headers, accept: "text/event-stream" },
        maxMessage: this.#limits.maxMessage,
        authorization: this.#options.authorization,
      },
      {
        head: (response) => {
          status = response.statusCode ?? 0;
        },
        message: (text, _, event) => {
          if (status !== 200) return undefined;
          if (event === "endpoint") this.#opened(text);
          const isMessage = event === "message" && messagesOf(text).length > 0;
          return isMessage ? this.#sink?.message(text) : undefined;
        },
        fault: (fault) => this.#sink?.fault(fault),
        end: (failure) => {
          const why = failure?.why ?? (status > 200 ? `answered ${status}` : "closed its stream");
          this.abort(new Error(why));
        },
      },
    );
    this.#open.add(request);
  }

  send(text: string): Room {
    if (this.#isClosed) return ROOM;
    if (this.#endpoint === undefined) {
      this.#queue.push(text);
      return ROOM;
    }
    const [message] = messagesOf(text);
    const isRequest = message !== undefined && pendingFor(message) !== undefined;
    if (!isRequest) return this.#answers.send(text);
    this.#post(text);
    return ROOM;
  }

  abort(reason: Error): void {
    if (this.#isClosed) return;
    const sink = this.#sink;
    this.#ended.resolve(reason.message);
    this.#close();
    sink?.end(reason);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#ended.resolve("closed the connection");
    this.#close();
  }

  #opened(endpoint: string): void {
    const url = URL.parse(endpoint, this.#url);
    // What we are configured to tell one server is not for another.
    if (url?.origin !== this.#url.origin) {
      this.abort(new Error(`wants messages sent to another server, '${endpoint}'`));
      return;
    }
    this.#endpoint = url;
    for (const text of this.#queue.splice(0)) this.send(text);
  }

  #post(text: string, done?: () => void): void {
    let status = 0;
    const request = exchange(
      {
        url: this.#endpoint ?? this.#url,
        timeout: LONGEST_TAKING,
        method: "POST",
        headers: { ...this.#options.headers, "content-type": "application/json" },
        body: text,
        maxMessage: this.#limits.maxMessage,
        authorization: this.#options.authorization,
      },
      {
        head: (response) => {
          status = response.statusCode ?? 0;
        },
        message() {},
        fault() {},
        end: (failure) => {
          this.#open.delete(request);
          if (status < 200 || status > 299) this.#refused(text, status, failure);
          done?.();
        },
      },
    );
    this.#open.add(request);
  }

  #refused(text: string, status: number, failure: HttpFailure | undefined): void {
    const [message] = messagesOf(text);
    const pending = message === undefined ? undefined : pendingFor(message);
    if (pending === undefined) return;
    if (status === 0 && failure !== undefined) {
      this.#sink?.lost?.(pending.id, new LostRequest(failure.why, failure));
      return;
    }
    const why = `${this.#url.origin} ${failure?.why ?? `answered ${status}`}`;
    const error = { code: -32000, message: why, data: { status } };
    const answer = JSON.stringify({ jsonrpc: "2.0", id: pending.id, error });
    background(this.#sink?.message(answer), "Taking a message");
  }

  #close(): void {
    this.#isClosed = true;
    this.#sink = undefined;
    this.#queue = [];
    this.#answers.clear();
    for (const request of this.#open) request.destroy();
  }
}
