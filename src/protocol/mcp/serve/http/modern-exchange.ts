import type { ServerResponse } from "node:http";

import { nextTurn } from "../../../../base/event-loop.ts";
import {
  type Channel,
  type ChannelLimits,
  ROOM,
  type Sink,
  type Topic,
} from "../../../../wire/channel.ts";
import { EventResponse } from "../../../../wire/channel/event-response.ts";
import { encodeSse } from "../../../../wire/framing/sse.ts";
import { MCP, STANDARD } from "../../../../rpc/codes.ts";
import { reply } from "./reply.ts";

/**
 * One request of 2026-07-28 and its answer: JSON, or events where something is sent before the answer.
 * Closing the connection cancels it (basic/transports/streamable-http § Cancellation).
 */
export class ModernExchange implements Channel<string> {
  readonly #response: ServerResponse;
  readonly #limits: ChannelLimits;
  #events: EventResponse | undefined;
  #sink: Sink<string> | undefined;
  isAnswered = false;
  #isSlow = false;

  constructor(response: ServerResponse, limits: ChannelLimits) {
    this.#response = response;
    this.#limits = limits;
  }

  /** The request was read already: the sink is only told when the client is gone. */
  receive(sink: Sink<string>): void {
    this.#sink = sink;
  }

  /** Calls back when the exchange is over, however it ends. */
  onOver(listener: () => void): void {
    this.#response.on("close", () => {
      if (!this.isAnswered) {
        this.#gone(this.#response.errored ?? new Error("The client closed the connection"));
      }
      listener();
    });
  }

  send(text: string, topic?: Topic): Promise<void> {
    if (this.isAnswered) return ROOM;
    if (topic?.isAnswer !== true) return this.#stream().send(frame(text));
    this.isAnswered = true;
    if (this.#events !== undefined) this.#events.end(frame(text));
    else reply(this.#response, statusOf(topic.errorCode), text);
    return ROOM;
  }

  /**
   * Sends a keep-alive. With the second one, the response becomes a stream; before, the answer may
   * still be an error with a status of its own.
   */
  keepAlive(): void {
    if (this.isAnswered) return;
    if (this.#isSlow) this.#stream().keepAlive();
    this.#isSlow = true;
  }

  abort(reason: Error): void {
    this.#gone(reason);
    this.#response.destroy();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const isLeaving = this.isAnswered && this.#events === undefined;
    this.isAnswered = true;
    this.#sink = undefined;
    // The answer is sent at the end of the turn if something has to be written before.
    if (isLeaving) await nextTurn();
    this.#events?.end();
    if (this.#response.writableEnded && !this.#response.closed) await this.#taken();
    this.#response.destroy();
  }

  /** Waits until the client has taken all there is, but no longer than the grace. */
  async #taken(): Promise<void> {
    const taken = Promise.withResolvers<void>();
    const timer = setTimeout(taken.resolve, this.#limits.closeGrace);
    this.#response.once("close", taken.resolve);
    await taken.promise;
    clearTimeout(timer);
  }

  #stream(): EventResponse {
    this.#events ??= new EventResponse(this.#response, this.#limits);
    return this.#events;
  }

  #gone(reason: Error): void {
    this.isAnswered = true;
    const sink = this.#sink;
    this.#sink = undefined;
    sink?.end(reason);
  }
}

function frame(text: string): string {
  return encodeSse(text, { event: "message" });
}

// MCP 2026-07-28, basic/transports/streamable-http § Protocol Version Header: 404 for -32601.
const STATUS: ReadonlyMap<number, number> = new Map([
  [STANDARD.methodNotFound.code, 404],
  [MCP.headerMismatch.code, 400],
  [MCP.missingCapability.code, 400],
  [MCP.unsupportedVersion.code, 400],
]);

/** § Server Validation: an HTTP error for a bad request; all other errors come with status 200. */
function statusOf(errorCode: number | undefined): number {
  if (errorCode === undefined) return 200;
  return STATUS.get(errorCode) ?? 200;
}
