import type { Readable, Writable } from "node:stream";

import { FULL_READ, nextTurn } from "../../base/event-loop.ts";
import {
  type Channel,
  type ChannelLimits,
  type FrameFault,
  resolveChannelLimits,
  type Sink,
} from "../channel.ts";
import { ndjson, type StreamFraming, type TextDecoder } from "../framing/ndjson.ts";
import { Outbox } from "./outbox.ts";
import { ReadHold } from "./read-hold.ts";

export interface StreamChannelOptions {
  readonly limits?: Partial<ChannelLimits>;
  /** By default one message a line. */
  readonly framing?: StreamFraming;
  /** Replaces the writable's own `write`, where that is redirected (see `stdioChannel`). */
  readonly write?: (text: string) => void;
  /** Whether a line that is not a JSON object is a message. By default all are. */
  readonly isMessage?: (line: string) => boolean;
}

const BRACE = 0x7b;

/**
 * A channel of texts, one a line unless they are framed otherwise, over a pair of byte streams: a process's standard streams, a
 * child's pipes, a socket.
 */
export function streamChannel(
  readable: Readable,
  writable: Writable,
  options: StreamChannelOptions = {},
): Channel<string> {
  return new StreamChannel(readable, writable, options);
}

class StreamChannel implements Channel<string> {
  readonly #readable: Readable;
  readonly #writable: Writable;
  readonly #encode: StreamFraming["encode"];
  readonly #decoder: TextDecoder;
  readonly #outbox: Outbox;
  readonly #isMessage: StreamChannelOptions["isMessage"];
  #sink: Sink<string> | undefined;
  readonly #hold: ReadHold;
  #failure: Error | undefined;
  #inputOver = false;

  constructor(readable: Readable, writable: Writable, options: StreamChannelOptions) {
    const limits = resolveChannelLimits(options.limits);
    this.#readable = readable;
    this.#hold = new ReadHold(readable);
    this.#writable = writable;
    this.#isMessage = options.isMessage;
    const { framing = ndjson } = options;
    this.#encode = framing.encode;
    this.#decoder = framing.decoder(limits.maxMessage, this);
    this.#outbox = new Outbox(writable, limits, (error) => this.abort(error), options.write);
    readable.on("error", (error: Error) => this.abort(error));
  }

  receive(sink: Sink<string>): void {
    this.#sink = sink;
    if (this.#failure !== undefined || this.#readable.destroyed) {
      this.#die(this.#failure ?? new Error("Input was cut off"));
      return;
    }
    this.#readable.on("data", (chunk: Buffer) => {
      this.#decoder.push(chunk);
      if (chunk.length >= FULL_READ) this.#hold.until(nextTurn());
    });
    this.#readable.on("end", () => {
      this.#decoder.end();
      this.#inputOver = true;
      this.#sink?.end();
      if (this.#writable.closed) this.#die(new Error("The peer has gone"));
    });
    this.#readable.on("close", () => {
      if (!this.#inputOver) this.#die(new Error("Input was cut off"));
    });
    // The other side may stop reading and go on sending. It is gone only when both have ended.
    this.#writable.on("close", () => {
      if (this.#inputOver) this.#die(new Error("The peer has gone"));
    });
  }

  send(message: string): Promise<void> {
    return this.#outbox.send(this.#encode(message));
  }

  abort(reason: Error): void {
    this.#failure ??= reason;
    this.#outbox.stop();
    this.#readable.destroy();
    this.#writable.destroy();
    this.#die(reason);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#sink = undefined;
    await this.#outbox.close();
    this.#readable.destroy();
    this.#writable.destroy();
  }

  /** Called by the decoder. */
  text(message: string): void {
    // Almost all are objects, which are messages everywhere.
    if (message.charCodeAt(0) !== BRACE && this.#isMessage?.(message) === false) return;
    const hold = this.#sink?.message(message);
    if (hold !== undefined) this.#hold.until(hold);
  }

  /** Called by the decoder. */
  fault(fault: FrameFault): void {
    this.#sink?.fault(fault);
  }

  #die(error: Error): void {
    const sink = this.#sink;
    this.#sink = undefined;
    sink?.end(error);
  }
}
