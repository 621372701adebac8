import { rmSync } from "node:fs";

import { SocketName } from "../../store/socket-name.ts";
import type { Channel, ChannelLimits } from "../../wire/channel.ts";
import { GreetedChannel } from "../../wire/channel/greeted.ts";
import { streamChannel } from "../../wire/channel/stream.ts";
import type { Greeting, Welcome } from "./greeting.ts";

/** Milliseconds. A gateway that is stopped or too busy does not delay a start for longer. */
const PATIENCE = 1_000;

export interface ReachOptions {
  readonly sockets: readonly string[];
  readonly greeting: Greeting;
  readonly limits: Partial<ChannelLimits>;
  /** Why a gateway was not used, in words that complete "The gateway …". */
  readonly refused: (why: string) => void;
}

/** A channel to the first gateway that takes us; undefined if none does. */
export async function reachGateway(options: ReachOptions): Promise<Channel<string> | undefined> {
  for (const path of options.sockets) {
    try {
      return await greet(path, options);
    } catch (error) {
      options.refused(error instanceof Error ? error.message : String(error));
    }
  }
  return undefined;
}

async function greet(path: string, { greeting, limits }: ReachOptions): Promise<Channel<string>> {
  // Every start of `trunkline mcp` loads this file, and most find no gateway.
  const { connect } = await import("node:net");
  using name = new SocketName(path);
  const socket = connect(name.path);
  const channel = new GreetedChannel(streamChannel(socket, socket, { limits }));
  const timer = setTimeout(() => channel.abort(new Error("does not answer")), PATIENCE);
  try {
    channel.send(JSON.stringify(greeting));
    const welcome = JSON.parse(await channel.greeting) as Welcome;
    if ("refused" in welcome) throw new Error(welcome.refused);
    return channel;
  } catch (error) {
    socket.destroy();
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === undefined) throw error;
    // A gateway that was killed leaves its socket, which has its name only once it is listened on.
    if (code === "ECONNREFUSED") rmSync(path, { force: true });
    throw new Error(`cannot be reached: ${message}`, { cause: error });
  } finally {
    clearTimeout(timer);
  }
}
