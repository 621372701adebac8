import type { OutgoingHttpHeaders, ServerResponse } from "node:http";

import { type ChannelLimits, ROOM } from "../channel.ts";

export type EventResponseLimits = Pick<ChannelLimits, "highWater" | "maxUnsent">;

/**
 * An HTTP answer that is a stream of events (`text/event-stream`). A reader that falls behind is
 * waited for, then given up: nothing grows without bound.
 */
export class EventResponse {
  readonly #response: ServerResponse;
  readonly #limits: EventResponseLimits;
  #isQuiet = true;
  #isEnding = false;
  #room: PromiseWithResolvers<void> | undefined;

  constructor(
    response: ServerResponse,
    limits: EventResponseLimits,
    headers: OutgoingHttpHeaders = {},
  ) {
    this.#response = response;
    this.#limits = limits;
    response.writeHead(200, {
      "content-type": "text/event-stream",
      "cache-control": "no-cache, no-transform",
      // Proxies that collect an answer before they pass it on would hold events back.
      "x-accel-buffering": "no",
      ...headers,
    });
    response.on("drain", () => this.#drained());
    response.on("close", () => this.#drained());
    response.on("error", () => {});
  }

  get isOpen(): boolean {
    return !this.#isEnding && !this.#response.destroyed;
  }

  /** Lets the reader know that it is connected, before there is an event. */
  flush(): void {
    this.#response.flushHeaders();
  }

  /** Writes the text of an event. Resolves when there is room for more. */
  send(event: string): Promise<void> {
    if (!this.isOpen) return ROOM;
    this.#isQuiet = false;
    this.#response.write(event);
    const unsent = this.#response.writableLength;
    if (unsent > this.#limits.maxUnsent) this.#response.destroy();
    // Below its own high water the stream would never say that it has drained.
    const highWater = Math.max(this.#limits.highWater, this.#response.writableHighWaterMark);
    if (unsent <= highWater || this.#response.destroyed) return ROOM;
    this.#room ??= Promise.withResolvers<void>();
    return this.#room.promise;
  }

  /** Writes a comment where nothing was written since the last time: what idles is cut off. */
  keepAlive(): void {
    if (this.#isQuiet) void this.send(": keepalive\n\n");
    this.#isQuiet = true;
  }

  /** Writes a last event and ends. */
  end(event = ""): void {
    if (!this.isOpen) return;
    this.#isEnding = true;
    this.#response.end(event);
  }

  #drained(): void {
    this.#room?.resolve();
    this.#room = undefined;
  }
}
