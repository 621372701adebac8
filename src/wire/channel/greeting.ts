import type { Duplex } from "node:stream";

import { TrunklineError } from "../../base/errors.ts";
import type { Log } from "../../base/log.ts";
import type { Principal } from "../../base/principal.ts";
import type { Channel, ChannelLimits, Sink } from "../channel.ts";
import { streamChannel } from "./stream.ts";

/** The answer to a greeting. After a refusal the connection is closed. */
export interface Welcome {
  /** Why the other process is refused, in words for a person. */
  readonly refused?: string | undefined;
}

/** How an answer to a greeting begins. A process that expects none ignores the notification. */
const WELCOME = `{"jsonrpc":"2.0","method":"trunkline/welcome","params":`;

export interface ServeGreetedOptions<G, W extends Welcome = Welcome> {
  readonly limits: Partial<ChannelLimits>;
  readonly log: Log;
  /** Decides by its greeting whether the other process is served. Throws if the greeting is invalid. */
  readonly welcome: (greeting: Partial<G>) => W;
  /** Serves a conversation until its channel ends. */
  readonly serve: (channel: Channel<string>, greeting: G) => Promise<void>;
}

/** Serves another of our processes: reads its greeting, answers it, and passes the rest on. */
export async function serveGreeted<G, W extends Welcome>(
  socket: Duplex,
  { limits, log, welcome, serve }: ServeGreetedOptions<G, W>,
): Promise<void> {
  socket.on("error", () => socket.destroy());
  const channel = greetedChannel(streamChannel(socket, socket, { limits }), "");
  try {
    const greeting = JSON.parse(await channel.first) as G;
    const answer = welcome(greeting);
    if (answer.refused !== undefined) log.warn("process.refused", { why: answer.refused });
    await channel.send(`${WELCOME}${JSON.stringify(answer)}}`);
    if (answer.refused === undefined) await serve(channel, greeting);
    await channel[Symbol.asyncDispose]();
  } catch (error) {
    log.warn("process.refused", { error });
  } finally {
    socket.destroy();
  }
}

/** The greeting of a process that acts for a principal. */
export interface PrincipalGreeting {
  readonly principal: Principal;
}

/** Without this check, a process that names no principal would count as the owner. */
export function mustNamePrincipal({ principal }: Partial<PrincipalGreeting>): Welcome {
  if (typeof principal?.id === "string") return {};
  throw new Error("The greeting names no principal");
}

/** A channel to a process that we have greeted. It can be used before the answer to the greeting arrives. */
export interface GreetedConnection<W extends Welcome = Welcome> {
  readonly channel: Channel<string>;
  /** Rejects if the other process refuses, or does not answer the greeting. */
  readonly welcome: Promise<W>;
}

/** The other side of `serveGreeted`. A refusal also ends the channel, with its reason. */
export function greet<W extends Welcome>(
  socket: Duplex,
  greeting: object,
  limits: Partial<ChannelLimits> = {},
): GreetedConnection<W> {
  const channel = greetedChannel(streamChannel(socket, socket, { limits }), WELCOME);
  channel.send(JSON.stringify(greeting));
  const welcome = channel.first.then((text) => {
    const answer = JSON.parse(text.slice(WELCOME.length, -1)) as W;
    if (answer.refused === undefined) return answer;
    const error = new TrunklineError("untrusted", answer.refused);
    channel.abort(error);
    throw error;
  });
  welcome.catch(() => {});
  return { channel, welcome };
}

/**
 * A channel whose first message settles `first`, if it is an answer to a greeting; all other messages go to
 * its sink.
 */
function greetedChannel(channel: Channel<string>, beginning: string) {
  const greeting = Promise.withResolvers<string>();
  const hasSink = Promise.withResolvers<void>();
  let receiver: Sink<string> | undefined;
  greeting.promise.catch(() => {});
  let isFirst = true;
  channel.receive({
    message: (text) => {
      const isGreeting = isFirst && text.startsWith(beginning);
      if (isGreeting) greeting.resolve(text);
      else if (isFirst) greeting.reject(new Error("is of another version of Trunkline"));
      isFirst = false;
      if (isGreeting) return receiver === undefined ? hasSink.promise : undefined;
      if (receiver !== undefined) return receiver.message(text);
      return hasSink.promise.then(() => receiver?.message(text));
    },
    fault: (fault) => receiver?.fault(fault),
    end: (error) => {
      greeting.reject(error ?? new Error("The other process has closed the connection"));
      receiver?.end(error);
    },
  });
  return {
    /** Rejects when the connection ends without one. */
    first: greeting.promise,
    receive: (sink: Sink<string>): void => {
      receiver = sink;
      hasSink.resolve();
    },
    send: (text: string) => channel.send(text),
    abort: (reason: Error) => channel.abort(reason),
    [Symbol.asyncDispose]: () => channel[Symbol.asyncDispose](),
  };
}
