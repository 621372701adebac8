import { HttpExchange } from "../../src/upstream/http/http-exchange.ts";
import type { Channel, ChannelLimits, Sink } from "../../src/wire/channel.ts";

/**
 * The client's side of one HTTP exchange, read as other people's servers are. It is made with all it
 * has to send, and lives as long as the answer.
 */
export class HttpReader implements Channel<string> {
  readonly #request: HttpExchange;
  #sink: Sink<string> | undefined;

  constructor(url: URL, { maxMessage }: ChannelLimits, body: string) {
    this.#request = new HttpExchange(
      { url, method: "POST", headers: {}, body, maxMessage },
      {
        head: () => {},
        message: (text) => this.#sink?.message(text),
        fault: (fault) => this.#sink?.fault(fault),
        end: (failure) => this.#end(failure && new Error(failure.why)),
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

  #end(error?: Error): void {
    const sink = this.#sink;
    this.#sink = undefined;
    sink?.end(error);
  }
}
