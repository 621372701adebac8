import type { OutgoingHttpHeaders, ServerResponse } from "node:http";

import { background } from "../../base/background.ts";
import { ByteReservation } from "../../base/limit/byte-budget.ts";
import { type ChannelLimits, ROOM, type Room } from "../channel.ts";
import { newOutbox } from "./outbox.ts";

/** An HTTP response that is a stream of events: `text/event-stream`, WHATWG HTML § 9.2. */
export class EventResponse {
  readonly #response: ServerResponse;
  readonly #outbox: ReturnType<typeof newOutbox>;
  #isQuiet = true;
  #isEnding = false;

  constructor(response: ServerResponse, limits: ChannelLimits, headers: OutgoingHttpHeaders = {}) {
    this.#response = response;
    response.writeHead(200, {
      "content-type": "text/event-stream",
      "cache-control": "no-cache, no-transform",
      // Proxies that collect an answer before they pass it on would hold events back.
      "x-accel-buffering": "no",
      ...headers,
    });
    const fail = (error: Error): unknown => response.destroy(error);
    this.#outbox = newOutbox(response, limits, fail, undefined, new ByteReservation());
    response.on("close", () => this.#outbox.stop());
  }

  get isOpen(): boolean {
    return !this.#isEnding && !this.#response.destroyed;
  }

  /** Sends the headers, so that the reader knows that it is connected before the first event. */
  flush(): void {
    this.#response.flushHeaders();
  }

  /** Sends the text of an event. Resolves when there is room for more. */
  send(event: string): Room {
    if (!this.isOpen) return ROOM;
    this.#isQuiet = false;
    return this.#outbox.send(event);
  }

  /** Sends a comment (WHATWG HTML § 9.2.7) if the stream was idle: proxies cut idle streams off. */
  keepAlive(): void {
    if (this.#isQuiet) this.send(": keepalive\n\n");
    this.#isQuiet = true;
  }

  /** Sends a last event and ends the response. */
  end(event = ""): void {
    this.send(event);
    this.#isEnding = true;
    background(this.#outbox.close(), "Ending a stream of events");
  }
}
