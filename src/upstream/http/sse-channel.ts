import { LostRequest } from "../../rpc/pending-requests.ts";
import { ROOM, type Room, type Sink } from "../../wire/channel.ts";
import type { HttpFailure } from "./http-exchange.ts";
import { messagesOf, pendingFor } from "./http-pending.ts";
import { type HttpChannelOptions, LONGEST_TAKING, PostingChannel } from "./posting-channel.ts";

/**
 * The client's side of HTTP+SSE, the transport of 2024-11-05 that some servers still have: all that
 * the server says comes on one stream, whose first event tells where to post to.
 */
export class SseChannel extends PostingChannel {
  readonly #headers: HttpChannelOptions["headers"];
  #endpoint: URL | undefined;
  /** Messages that were sent before the endpoint was known. */
  #unsent: string[] = [];

  constructor(url: URL, options: HttpChannelOptions) {
    super(url, options);
    this.#headers = options.headers;
  }

  override receive(sink: Sink<string>): void {
    super.receive(sink);
    let status = 0;
    this.exchange(
      { method: "GET", headers: { ...this.#headers, accept: "text/event-stream" } },
      {
        head: (response) => {
          status = response.statusCode ?? 0;
        },
        message: (text, _, event) => {
          if (status !== 200) return undefined;
          if (event === "endpoint") this.#opened(text);
          const isMessage = event === "message" && messagesOf(text).length > 0;
          return isMessage ? this.sink?.message(text) : undefined;
        },
        fault: (fault) => this.sink?.fault(fault),
        end: (failure) => {
          const why = failure?.why ?? (status > 200 ? `answered ${status}` : "closed its stream");
          this.abort(new Error(why));
        },
      },
    );
  }

  send(text: string): Room {
    if (this.isClosed) return ROOM;
    if (this.#endpoint === undefined) {
      this.#unsent.push(text);
      return ROOM;
    }
    const [message] = messagesOf(text);
    const isRequest = message !== undefined && pendingFor(message) !== undefined;
    if (!isRequest) return this.queue(text);
    this.post(text);
    return ROOM;
  }

  #opened(endpoint: string): void {
    const url = URL.parse(endpoint, this.url);
    // Configured headers are for the configured server only.
    if (url?.origin !== this.url.origin) {
      this.abort(new Error(`wants messages sent to another server, '${endpoint}'`));
      return;
    }
    this.#endpoint = url;
    for (const text of this.#unsent.splice(0)) this.send(text);
  }

  protected override post(text: string, done?: () => void): void {
    let status = 0;
    this.exchange(
      {
        url: this.#endpoint ?? this.url,
        timeout: LONGEST_TAKING,
        method: "POST",
        headers: { ...this.#headers, "content-type": "application/json" },
        body: text,
      },
      {
        head: (response) => {
          status = response.statusCode ?? 0;
        },
        message() {},
        fault() {},
        end: (failure) => {
          if (status < 200 || status > 299) this.#refused(text, status, failure);
          done?.();
        },
      },
    );
  }

  #refused(text: string, status: number, failure: HttpFailure | undefined): void {
    const [message] = messagesOf(text);
    const pending = message === undefined ? undefined : pendingFor(message);
    if (pending === undefined) return;
    if (status === 0 && failure?.isTokenless === false) {
      this.sink?.lost?.(pending.id, new LostRequest(failure.why, failure));
    } else this.fail(pending.id, failure?.why ?? `answered ${status}`, status);
  }
}
