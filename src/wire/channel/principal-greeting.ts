import type { Duplex } from "node:stream";
import type { Log } from "../../base/log.ts";
import type { Principal } from "../../base/principal.ts";
import type { Channel, ChannelLimits, Room, Sink } from "../channel.ts";
import { streamChannel } from "./stream.ts";

/** The first message between two of our processes: the principal of the client. */
interface Greeting {
  readonly principal: Principal;
  /** By which the other side knows that this is one of our processes, where it cannot tell otherwise. */
  readonly proof?: string | undefined;
}

export interface ServeGreetedOptions {
  readonly limits: Partial<ChannelLimits>;
  readonly log: Log;
  /** Serves a conversation until its channel ends. */
  readonly serve: (
    channel: Channel<string>,
    principal: Principal,
    greeting: { readonly proof?: unknown },
  ) => Promise<void>;
}

/**
 * Serves another of our processes. The greeting is trusted: only such processes must be able to connect,
 * or `serve` has to ask it for a proof.
 */
export async function serveGreeted(socket: Duplex, options: ServeGreetedOptions): Promise<void> {
  socket.on("error", () => socket.destroy());
  const channel = new GreetedChannel(streamChannel(socket, socket, options));
  try {
    const greeting = JSON.parse(await channel.greeting) as Partial<Greeting>;
    const { principal } = greeting;
    // Whoever does not say for whom it speaks must not be taken for the owner.
    if (typeof principal?.id !== "string") throw new Error("The greeting names no principal");
    await options.serve(channel, principal, greeting);
  } catch (error) {
    options.log.warn("session.process-refused", { error });
  } finally {
    socket.destroy();
  }
}

/** The other side of `serveGreeted`. */
export function greet(socket: Duplex, principal: Principal, proof?: string): Channel<string> {
  const channel = streamChannel(socket, socket);
  const greeting: Greeting = { principal, proof };
  channel.send(JSON.stringify(greeting));
  return channel;
}

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
