import type { Duplex } from "node:stream";

import type { Log } from "../../base/log.ts";
import type { Principal } from "../../base/principal.ts";
import type { Channel, ChannelLimits } from "../channel.ts";
import { GreetedChannel } from "./greeted.ts";
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
