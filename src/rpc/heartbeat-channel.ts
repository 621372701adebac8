import { Heartbeat, type HeartbeatOptions } from "../base/limit/heartbeat.ts";
import { type Channel, ROOM, type Room, type Sink, type Topic } from "../wire/channel.ts";

export interface HeartbeatChannelOptions extends Pick<
  HeartbeatOptions,
  "isWaiting" | "isStopped" | "interval"
> {
  /** The method of a request that everybody answers. */
  readonly method: string;
  /** The error that ends the channel when the other side is silent. */
  readonly silent?: Error;
}

/** A channel with a heartbeat: it is closed if the other process does not answer while somebody waits. */
export class HeartbeatChannel implements Channel<string> {
  readonly #channel: Channel<string>;
  readonly #heartbeat: Heartbeat;
  /** How an answer to one of our requests begins. The id is random, so that nobody else uses it. */
  #pong: string | undefined;

  constructor(channel: Channel<string>, options: HeartbeatChannelOptions) {
    const { method, silent = new Error("It does not answer") } = options;
    this.#channel = channel;
    this.#heartbeat = new Heartbeat({
      ...options,
      beat: () => {
        this.#pong ??= `{"jsonrpc":"2.0","id":"${crypto.randomUUID()}",`;
        channel.send(`${this.#pong}"method":"${method}"}`);
      },
      silent: () => channel.abort(silent),
    });
  }

  receive(sink: Sink<string>): void {
    this.#channel.receive({
      message: (text) => {
        const isPong = this.#pong !== undefined && text.startsWith(this.#pong);
        const room = isPong ? undefined : sink.message(text);
        this.#heartbeat.heard(room === ROOM ? undefined : room);
        return room;
      },
      fault: (fault) => sink.fault(fault),
      end: (error) => {
        this.#heartbeat[Symbol.dispose]();
        sink.end(error);
      },
    });
  }

  send(text: string, topic?: Topic): Room {
    return this.#channel.send(text, topic);
  }

  abort(reason: Error): void {
    this.#channel.abort(reason);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#heartbeat[Symbol.dispose]();
    await this.#channel[Symbol.asyncDispose]();
  }
}
