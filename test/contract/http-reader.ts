import type { ClientRequest, IncomingMessage } from "node:http";

import { exchange } from "../../src/upstream/http-exchange.ts";
import type { Channel, ChannelLimits, Sink } from "../../src/wire/channel.ts";

/**
 * The client's side of one HTTP exchange, read as other people's servers are. It is made with all it
 * has to send, and lives as long as the answer.
 */
export class HttpReader implements Channel<string> {
  readonly #request: ClientRequest;
  #response: IncomingMessage | undefined;
  #sink: Sink<string> | undefined;

  constructor(url: URL, { maxMessage }: ChannelLimits, body: string) {
    this.#request = exchange(
      { url, method: "POST", headers: {}, body, maxMessage },
      {
        head: (response) => (this.#response = response),
        message: (text) => this.#message(text),
        fault: (fault) => this.#sink?.fault(fault),
        end: (error) => this.#end(error),
      },
    );
  }

  receive(sink: Sink<string>): void {
    this.#sink = sink;
  }

  async send(): Promise<void> {
    // The request is over.
  }

  abort(reason: Error): void {
    this.#request.destroy();
    this.#end(reason);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#sink = undefined;
    this.#request.destroy();
  }

  #message(text: string): void {
    const hold = this.#sink?.message(text);
    if (hold === undefined) return;
    this.#response?.pause();
    void hold.then(() => this.#response?.resume());
  }

  #end(error?: Error): void {
    const sink = this.#sink;
    this.#sink = undefined;
    sink?.end(error);
  }
}
