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
 * One POST with requests, up to 2025-11-25, and its answer: JSON, or events where something is sent
 * before the answer. A client that loses its connection has not cancelled anything.
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

  /** Something that belongs to a request, before its answer. Undefined where nobody can get it. */
  send(text: string): Promise<void> | undefined {
    return this.#open()?.send(text);
  }

  answer(text: string): void {
    if (this.#stream !== undefined) this.#stream.finish(text);
    else if (!this.#response.destroyed) reply(this.#response, 200, text, this.#host.headers());
  }

  /** It was cancelled, which has no answer. */
  cancel(): void {
    if (this.#stream !== undefined) this.#stream.finish();
    else if (!this.#response.destroyed) accepted(this.#response);
  }

  /**
   * A sign of life. An answer that has not come by the second becomes a stream that can be taken up
   * again when its connection is lost, and one that is too long in coming has to be.
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
