import { Lazy } from "../../../base/lazy.ts";
import type { Channel, Sink } from "../../../wire/channel.ts";
import type { SessionLinks, SessionLinksOptions } from "./session-links.ts";

/**
 * A client's way to sessions that other processes have open. Most clients need none, so the code for it
 * is loaded with the first such session.
 */
export class LazyLinks {
  readonly #links: Lazy<SessionLinks>;
  #loaded: SessionLinks | undefined;
  #channel: Channel<string> | undefined;
  #own: Sink<string> | undefined;

  constructor(options: Pick<SessionLinksOptions, "reach" | "client" | "send">) {
    this.#links = new Lazy(async () => {
      const [channel, own] = [this.#channel, this.#own];
      if (channel === undefined || own === undefined) throw new Error("The channel is not open");
      const { SessionLinks } = await import("./session-links.ts");
      this.#loaded = new SessionLinks({ ...options, channel, own });
      return this.#loaded;
    });
  }

  /** The client's channel as its peer here sees it: what is for other processes does not arrive. */
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

  async close(): Promise<void> {
    await (await this.#links.opened())?.close();
  }
}
