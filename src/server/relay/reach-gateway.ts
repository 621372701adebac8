import { rmSync } from "node:fs";

import type { UpstreamStatus } from "../../upstream/upstream.ts";
import type { Channel, ChannelLimits } from "../../wire/channel.ts";
import type { GreetedConnection, Welcome } from "../../wire/channel/greeting.ts";
import { type ReachProcessOptions, reachProcess } from "../../session/open/process-socket.ts";
import type { Terms } from "./terms.ts";

/** The greeting of a process that asks a gateway to serve its client. */
export interface RelayGreeting extends Terms {
  readonly protocol: "mcp";
  /** The folder that the client has started the process in. */
  readonly folder: string;
  /** The profile that the process was started with. */
  readonly profile?: string | undefined;
}

/** The greeting of a process that asks only for the state of the MCP servers. */
export interface StatusQuestion {
  readonly protocol: "status";
}

export interface GatewayWelcome extends Welcome {
  /** The state of the MCP servers, in answer to a `StatusQuestion`. */
  readonly servers?: readonly UpstreamStatus[];
}

/**
 * The last message of a gateway that stops: it takes no new requests, and closes the connection when
 * the open ones are answered, or soon after.
 */
export const CLOSING = `{"jsonrpc":"2.0","method":"trunkline/closing"}`;

/** Milliseconds that a gateway has to answer, so that one that hangs does not delay a start. */
const PATIENCE = 1_000;

export interface ReachGatewayOptions {
  readonly data: string;
  readonly sockets: readonly string[];
  readonly greeting: RelayGreeting;
  readonly limits: Partial<ChannelLimits>;
  /** Why a gateway was not used, in words that complete "The gateway …". */
  readonly refused: (why: string) => void;
}

/** A channel to the first gateway that accepts this process; undefined if none does. */
export async function reachGateway(
  options: ReachGatewayOptions,
): Promise<Channel<string> | undefined> {
  for (const path of options.sockets) {
    try {
      return (await welcomed({ ...options, path })).channel;
    } catch (error) {
      options.refused(error instanceof Error ? error.message : String(error));
    }
  }
  return undefined;
}

/** The state of the MCP servers of all running gateways of a data folder. */
export async function serversNow(
  data: string,
  sockets: readonly string[],
): Promise<UpstreamStatus[]> {
  const greeting: StatusQuestion = { protocol: "status" };
  const asked = sockets.map(async (path) => {
    const { channel, welcome } = await welcomed({ data, path, greeting });
    await channel[Symbol.asyncDispose]();
    return (await welcome).servers ?? [];
  });
  const answers = await Promise.allSettled(asked);
  return answers.flatMap((each) => (each.status === "fulfilled" ? each.value : []));
}

/** Connects to a gateway, and waits for its answer to the greeting. */
async function welcomed(options: ReachProcessOptions): Promise<GreetedConnection<GatewayWelcome>> {
  try {
    const greeted = await reachProcess<GatewayWelcome>(options);
    const late = new Error("does not answer");
    const timer = setTimeout(() => greeted.channel.abort(late), PATIENCE);
    await greeted.welcome.finally(() => clearTimeout(timer));
    return greeted;
  } catch (error) {
    const { code, message, syscall } = error as NodeJS.ErrnoException;
    if (syscall === undefined) throw error;
    // A gateway that was killed leaves its socket, which has its name only once it is listened on.
    if (code === "ECONNREFUSED") rmSync(options.path, { force: true });
    throw new Error(`cannot be reached: ${message}`, { cause: error });
  }
}
