import { background } from "../../base/background.ts";
import { Semaphore } from "../../base/limit/semaphore.ts";
import {
  type Channel,
  type ChannelLimits,
  resolveChannelLimits,
  ROOM,
  type Room,
  type Sink,
  SlowReaderError,
} from "../../wire/channel.ts";
import {
  HttpExchange,
  type HttpAnswer,
  type HttpAuthorization,
  type HttpExchangeOptions,
} from "./http-exchange.ts";

export interface HttpChannelOptions {
  readonly headers: Readonly<Record<string, string>>;
  readonly limits?: Partial<ChannelLimits>;
  /** The tokens of its requests; without it, only what is in the headers. */
  readonly authorization?: HttpAuthorization | undefined;
}

/** Milliseconds for the server to take a message that it does not answer in the same exchange. */
export const LONGEST_TAKING = 30_000;
/** Messages without an answer that may be on their way at once. */
const MOST_AT_ONCE = 16;

/** The client's side of a transport that posts each message to the server. */
export abstract class PostingChannel implements Channel<string> {
  protected readonly url: URL;
  protected readonly limits: ChannelLimits;
  protected sink: Sink<string> | undefined;
  protected isClosed = false;
  readonly #authorization: HttpAuthorization | undefined;
  readonly #open = new Set<HttpExchange>();
  readonly #ended = Promise.withResolvers<string>();
  readonly #slots = new Semaphore({ running: MOST_AT_ONCE });
  #unsent = 0;
  #room: PromiseWithResolvers<void> | undefined;

  constructor(url: URL, { limits, authorization }: HttpChannelOptions) {
    this.url = url;
    this.limits = resolveChannelLimits(limits);
    this.#authorization = authorization;
  }

  /** Why it is over, in words that complete "it …". */
  get ended(): Promise<string> {
    return this.#ended.promise;
  }

  receive(sink: Sink<string>): void {
    this.sink = sink;
  }

  abstract send(text: string): Room;

  /** Posts a message. `done` is called when the exchange is over, however it ended. */
  protected abstract post(text: string, done: () => void): void;

  abort(reason: Error): void {
    const { sink } = this;
    this.#ended.resolve(reason.message);
    this.close();
    sink?.end(reason);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.close();
  }

  protected close(): void {
    this.isClosed = true;
    this.#ended.resolve("closed the connection");
    this.sink = undefined;
    for (const request of this.#open) request.destroy();
    this.#room?.resolve();
  }

  /**
   * Posts a message that needs no answer, such as our answer to a question. The promise resolves when
   * there is room for more: a server that asks without end and takes no answers is read no more then.
   */
  protected queue(text: string): Room {
    const { highWater, maxUnsent } = this.limits;
    this.#unsent += text.length;
    background(
      this.#slots.run(() => this.#postQueued(text)),
      "Posting a message",
    );
    if (this.#unsent > maxUnsent) this.abort(new SlowReaderError(this.#unsent, maxUnsent));
    if (this.#unsent <= highWater || this.isClosed) return ROOM;
    this.#room ??= Promise.withResolvers();
    return this.#room.promise;
  }

  async #postQueued(text: string): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    if (this.isClosed) return;
    this.post(text, resolve);
    await promise;
    // Not earlier: a message in flight takes memory, too.
    this.#unsent -= text.length;
    if (this.#unsent > this.limits.highWater) return;
    this.#room?.resolve();
    this.#room = undefined;
  }

  /** Begins an exchange, which is destroyed when the channel closes. */
  protected exchange(
    options: Omit<HttpExchangeOptions, "url" | "maxMessage"> & { readonly url?: URL },
    answer: HttpAnswer,
  ): HttpExchange {
    const { maxMessage } = this.limits;
    const common = { url: this.url, maxMessage, authorization: this.#authorization };
    const request: HttpExchange = new HttpExchange(
      { ...common, ...options },
      {
        ...answer,
        end: (failure) => {
          this.#open.delete(request);
          answer.end(failure);
        },
      },
    );
    this.#open.add(request);
    return request;
  }

  /** Answers a request of ours with an error in words that complete "the server …". */
  protected fail(id: string | number, why: string, status: number): void {
    const error = { code: -32000, message: `${this.url.origin} ${why}`, data: { status } };
    const answer = JSON.stringify({ jsonrpc: "2.0", id, error });
    background(this.sink?.message(answer), "Taking a message");
  }
}
