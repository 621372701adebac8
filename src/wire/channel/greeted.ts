import type { Channel, Room, Sink } from "../channel.ts";

/** A channel whose first message is a greeting; all others go to its sink. */
export class GreetedChannel implements Channel<string> {
  readonly #channel: Channel<string>;
  readonly #greeting = Promise.withResolvers<string>();
  readonly #sink = Promise.withResolvers<void>();
  #receiver: Sink<string> | undefined;
  #isGreeted = false;

  constructor(channel: Channel<string>) {
    this.#channel = channel;
    this.#greeting.promise.catch(() => {});
    channel.receive({
      message: (text) => {
        if (this.#receiver !== undefined) return this.#receiver.message(text);
        if (this.#isGreeted) return this.#sink.promise.then(() => this.#receiver?.message(text));
        this.#isGreeted = true;
        this.#greeting.resolve(text);
        return this.#sink.promise;
      },
      fault: (fault) => this.#receiver?.fault(fault),
      end: (error) => {
        this.#greeting.reject(error ?? new Error("The other process has closed the connection"));
        this.#receiver?.end(error);
      },
    });
  }

  /** Rejects when the connection ends without one. */
  get greeting(): Promise<string> {
    return this.#greeting.promise;
  }

  receive(sink: Sink<string>): void {
    this.#receiver = sink;
    this.#sink.resolve();
  }

  send(text: string): Room {
    return this.#channel.send(text);
  }

  abort(reason: Error): void {
    this.#channel.abort(reason);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#channel[Symbol.asyncDispose]();
  }
}
