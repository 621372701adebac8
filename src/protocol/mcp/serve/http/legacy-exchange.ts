import type { OutgoingHttpHeaders, ServerResponse } from "node:http";

import type { EventStream } from "./event-stream.ts";
import { accepted, reply } from "./reply.ts";

/** What an exchange needs of its session. */
export interface ExchangeHost {
  /** Turns a response into a new stream of events. */
  openStream(response: ServerResponse): EventStream;
  /** Sent with the answer to `initialize`. */
  headers(): OutgoingHttpHeaders;
}

/**
 * One POST with requests in a session, and its answer: JSON, or events where something is sent before
 * the answer. MCP 2025-11-25, basic/transports: a lost connection is not a cancellation.
 */
export class LegacyExchange {
  /** Ids of its requests that have no answer yet, as JSON texts. */
  readonly ids: Set<string>;
  readonly #response: ServerResponse;
  readonly #host: ExchangeHost;
  #stream: EventStream | undefined;
  #isSlow = false;

  constructor(ids: Set<string>, response: ServerResponse, host: ExchangeHost) {
    this.ids = ids;
    this.#response = response;
    this.#host = host;
  }

  /** Sends a message that precedes the answer. Undefined where the client is gone. */
  send(text: string): Promise<void> | undefined {
    return this.#open()?.send(text);
  }

  answer(text: string): void {
    if (this.#stream !== undefined) this.#stream.finish(text);
    else if (!this.#response.destroyed) reply(this.#response, 200, text, this.#host.headers());
  }

  /** A cancelled request has no answer: ends the response. */
  cancel(): void {
    if (this.#stream !== undefined) this.#stream.finish();
    else if (!this.#response.destroyed) accepted(this.#response);
  }

  /**
   * Sends a keep-alive. With the second one, an exchange without an answer becomes a stream, which the
   * client can resume. A connection that lasts too long is closed, and the client must resume it.
   */
  keepAlive(longestConnection: number): void {
    if (this.#isSlow) this.#open()?.keepAlive(longestConnection);
    this.#isSlow = true;
  }

  #open(): EventStream | undefined {
    if (this.#stream === undefined && !this.#response.destroyed) {
      this.#stream = this.#host.openStream(this.#response);
    }
    return this.#stream;
  }
}
