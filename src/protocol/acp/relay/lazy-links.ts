import { Lazy } from "../../../base/lazy.ts";
import type { Channel, Sink } from "../../../wire/channel.ts";
import type { SessionLinks, SessionLinksOptions } from "./session-links.ts";

/**
 * Connects a client to sessions that other processes have open. Most clients need no such session, so
 * the code is loaded with the first one.
 */
export class LazyLinks {
  readonly #links: Lazy<SessionLinks>;
  #loaded: SessionLinks | undefined;
  #channel: Channel<string> | undefined;
  #own: Sink<string> | undefined;

  constructor(options: Omit<SessionLinksOptions, "channel" | "own">) {
    this.#links = new Lazy(async () => {
      const [channel, own] = [this.#channel, this.#own];
      if (channel === undefined || own === undefined) throw new Error("The channel is not open");
      const { SessionLinks } = await import("./session-links.ts");
      this.#loaded = new SessionLinks({ ...options, channel, own });
      return this.#loaded;
    });
  }

  /** The client's channel for its peer here, without the messages that are for other processes. */
  through(channel: Channel<string>): Channel<string> {
    this.#channel = channel;
    return {
      receive: (sink) => {
        this.#own = sink;
        channel.receive({
          message: (text) =>
            this.#loaded === undefined ? sink.message(text) : this.#loaded.take(text),
          fault: (fault) => sink.fault(fault),
          end: (error) => sink.end(error),
          ...(sink.lost === undefined ? {} : { lost: (id, error) => sink.lost?.(id, error) }),
        });
      },
      send: (text, topic) => channel.send(text, topic),
      abort: (reason) => channel.abort(reason),
      [Symbol.asyncDispose]: () => channel[Symbol.asyncDispose](),
    };
  }

  /** See `SessionLinks.request`. */
  async request(...args: Parameters<SessionLinks["request"]>): Promise<unknown> {
    return await (await this.#links.get()).request(...args);
  }

  /** See `SessionLinks.rejoin`. */
  async rejoin(...args: Parameters<SessionLinks["rejoin"]>): Promise<void> {
    (await this.#links.get()).rejoin(...args);
  }

  async close(): Promise<void> {
    await (await this.#links.opened())?.close();
  }
}
