import type { Channel, FrameFault, Room, Sink, Topic } from "../channel.ts";

/** Sees what passes on a channel. It must be cheap: each message waits for it. */
export interface Tap {
  message(text: string, direction: "in" | "out"): void;
}

/** The same channel, with somebody who sees each message. */
export function tapped(channel: Channel<string>, tap: Tap): Channel<string> {
  return new TappedChannel(channel, tap);
}

class TappedChannel implements Channel<string> {
  readonly #channel: Channel<string>;
  readonly #tap: Tap;

  constructor(channel: Channel<string>, tap: Tap) {
    this.#channel = channel;
    this.#tap = tap;
  }

  receive(sink: Sink<string>): void {
    this.#channel.receive(new TappedSink(sink, this.#tap));
  }

  send(text: string, topic?: Topic): Room {
    this.#tap.message(text, "out");
    return this.#channel.send(text, topic);
  }

  abort(reason: Error): void {
    this.#channel.abort(reason);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#channel[Symbol.asyncDispose]();
  }
}

class TappedSink implements Sink<string> {
  readonly #sink: Sink<string>;
  readonly #tap: Tap;

  constructor(sink: Sink<string>, tap: Tap) {
    this.#sink = sink;
    this.#tap = tap;
  }

  message(text: string): void | Room {
    this.#tap.message(text, "in");
    return this.#sink.message(text);
  }

  fault(fault: FrameFault): void {
    this.#sink.fault(fault);
  }

  lost(id: string | number, error: Error): void {
    this.#sink.lost?.(id, error);
  }

  end(error?: Error): void {
    this.#sink.end(error);
  }
}
