import type { ClientRequest } from "node:http";

import {
  type Channel,
  type ChannelLimits,
  resolveChannelLimits,
  ROOM,
  type Sink,
} from "../wire/channel.ts";
import type { HttpChannelOptions } from "./http-channel.ts";
import { exchange } from "./http-exchange.ts";
import { messagesOf, pendingFor } from "./http-pending.ts";

/**
 * The client's side of HTTP+SSE, the transport of 2024-11-05 that some servers still have: all that
 * the server says comes on one stream, whose first event tells where to post to.
 */
export class SseChannel implements Channel<string> {
  readonly #url: URL;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #limits: ChannelLimits;
  readonly #open = new Set<ClientRequest>();
  readonly #ended = Promise.withResolvers<string>();
  #sink: Sink<string> | undefined;
  #endpoint: URL | undefined;
  /** What was sent before it was known where to. */
  #queue: string[] = [];
  #isClosed = false;

  constructor(url: URL, options: HttpChannelOptions) {
    this.#url = url;
    this.#headers = options.headers;
    this.#limits = resolveChannelLimits(options.limits);
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
        headers: { ...this.#headers, accept: "text/event-stream" },
        maxMessage: this.#limits.maxMessage,
      },
      {
        head: (response) => {
          status = response.statusCode ?? 0;
        },
        message: (text, _, event) => {
          if (status !== 200) return;
          if (event === "endpoint") this.#opened(text);
          else if (event === "message") void this.#sink?.message(text);
        },
        fault: (fault) => this.#sink?.fault(fault),
        end: (error) => {
          const why = status > 200 ? `answered ${status}` : (error?.message ?? "");
          this.abort(new Error(`closed its stream${why === "" ? "" : `: ${why}`}`));
        },
      },
    );
    this.#open.add(request);
  }

  send(text: string): Promise<void> {
    if (this.#isClosed) return ROOM;
    if (this.#endpoint === undefined) this.#queue.push(text);
    else this.#post(this.#endpoint, text);
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
    for (const text of this.#queue.splice(0)) this.#post(url, text);
  }

  #post(url: URL, text: string): void {
    let status = 0;
    const request = exchange(
      {
        url,
        method: "POST",
        headers: { ...this.#headers, "content-type": "application/json" },
        body: text,
        maxMessage: this.#limits.maxMessage,
      },
      {
        head: (response) => {
          status = response.statusCode ?? 0;
        },
        message() {},
        fault() {},
        end: () => {
          this.#open.delete(request);
          if (status < 200 || status > 299) this.#refused(text, status);
        },
      },
    );
    this.#open.add(request);
  }

  #refused(text: string, status: number): void {
    const [message] = messagesOf(text);
    const pending = message === undefined ? undefined : pendingFor(message);
    if (pending === undefined) return;
    const error = { code: -32000, message: `${this.#url.origin} answered ${status}` };
    const answer = { jsonrpc: "2.0", id: pending.id, error: { ...error, data: { status } } };
    void this.#sink?.message(JSON.stringify(answer));
  }

  #close(): void {
    this.#isClosed = true;
    this.#sink = undefined;
    this.#queue = [];
    for (const request of this.#open) request.destroy();
  }
}
