import { once } from "node:events";
import { rmSync } from "node:fs";

import { SocketName } from "../../store/socket-name.ts";
import type { UpstreamStatus } from "../../upstream/upstream.ts";
import type { Channel, ChannelLimits } from "../../wire/channel.ts";
import { GreetedChannel } from "../../wire/channel/principal-greeting.ts";
import { streamChannel } from "../../wire/channel/stream.ts";
import type { Greeting, ServersNow, StatusQuestion, Welcome } from "./greeting.ts";

/** Milliseconds. A gateway that is stopped or too busy does not delay a start for longer. */
const PATIENCE = 1_000;

export interface ReachOptions {
  readonly data: string;
  readonly sockets: readonly string[];
  readonly greeting: Omit<Greeting, "proof">;
  readonly limits: Partial<ChannelLimits>;
  /** Why a gateway was not used, in words that complete "The gateway …". */
  readonly refused: (why: string) => void;
}

/** A channel to the first gateway that takes us; undefined if none does. */
export async function reachGateway(options: ReachOptions): Promise<Channel<string> | undefined> {
  for (const path of options.sockets) {
    try {
      return await join(path, options);
    } catch (error) {
      options.refused(error instanceof Error ? error.message : String(error));
    }
  }
  return undefined;
}

/** How the MCP servers of the running gateways of a data folder are. */
export async function serversNow(
  data: string,
  sockets: readonly string[],
): Promise<UpstreamStatus[]> {
  const greeting: Omit<StatusQuestion, "proof"> = { protocol: "status" };
  const asked = sockets.map(async (path) => {
    const { channel, answer } = await greet(path, { data, greeting, limits: {} });
    await channel[Symbol.asyncDispose]();
    return (answer as ServersNow).servers;
  });
  const answers = await Promise.allSettled(asked);
  return answers.flatMap((each) => (each.status === "fulfilled" ? each.value : []));
}

async function join(path: string, options: ReachOptions): Promise<Channel<string>> {
  const { channel, answer } = await greet(path, options);
  const welcome = answer as Welcome;
  if (!("refused" in welcome)) return channel;
  await channel[Symbol.asyncDispose]();
  throw new Error(welcome.refused);
}

/** Connects to a gateway, and waits for its answer to the first message. */
async function greet(
  path: string,
  { data, greeting, limits }: { data: string; greeting: object; limits: Partial<ChannelLimits> },
): Promise<{ readonly channel: Channel<string>; readonly answer: unknown }> {
  // Every start of `trunkline mcp` loads this file, and most find no gateway.
  const [{ connect }, { mustBeOwn, OwnProcess }] = await Promise.all([
    import("node:net"),
    import("../../store/access/own-process.ts"),
  ]);
  using name = new SocketName(path);
  const socket = connect(name.path);
  const channel = new GreetedChannel(streamChannel(socket, socket, { limits }));
  const timer = setTimeout(() => channel.abort(new Error("does not answer")), PATIENCE);
  try {
    await Promise.race([once(socket, "connect"), channel.greeting]);
    await mustBeOwn(socket);
    channel.send(JSON.stringify({ ...greeting, proof: new OwnProcess(data).proof }));
    return { channel, answer: JSON.parse(await channel.greeting) as unknown };
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
