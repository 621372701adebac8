import { TrunklineError } from "../base/errors.ts";
import type { Era } from "../protocol/mcp/connect/handshake.ts";
import { McpClient, type McpClientOptions } from "../protocol/mcp/connect/connect.ts";
import { LostRequest } from "../rpc/lost-request.ts";
import type { ChannelLimits } from "../wire/channel.ts";
import type { Link, OpenLink } from "./link.ts";
import type { Sayings } from "../base/throttled-log.ts";
import type { UpstreamSettings } from "./settings.ts";

export interface MeetOptions {
  readonly settings: UpstreamSettings;
  readonly open: OpenLink;
  readonly era: Era;
  readonly sayings: Sayings;
  readonly channelLimits: Partial<ChannelLimits>;
  readonly client: McpClientOptions;
  readonly signal: AbortSignal;
}

/** A server that is up, and the way to it. */
export interface Met {
  readonly client: McpClient;
  readonly link: Link;
}

/** Starts an upstream and shakes hands with it. Whatever was started is ended when that fails. */
export async function meet(options: MeetOptions): Promise<Met> {
  try {
    return await meetAs(options.era, options);
  } catch (error) {
    // Some programs do not survive a first message that they do not know.
    if (options.era !== "auto" || !isLost(error) || options.signal.aborted) throw error;
    return meetAs("legacy", options);
  }
}

async function meetAs(era: Era, options: MeetOptions): Promise<Met> {
  const { settings, open, sayings, channelLimits, signal } = options;
  const said = (line: string): void => sayings.add(line);
  const link = await open(settings, { said }, channelLimits);
  try {
    const { originOf, canCall } = link;
    const client = await McpClient.connect(link.channel, {
      ...options.client,
      era,
      signal,
      ...(originOf === undefined ? {} : { originOf }),
      ...(canCall === undefined ? {} : { canCall }),
    });
    return { client, link };
  } catch (error) {
    await link.end();
    if (!isLost(error)) throw error;
    const why =
      error instanceof LostRequest ? `It ${error.message}` : await whyEnded(link, sayings);
    throw new TrunklineError("closed", why, { cause: error });
  }
}

/** How the way to an upstream came to its end, and the last that was heard of it. */
export async function whyEnded(link: Link, sayings: Sayings): Promise<string> {
  const why = (await link.ended) ?? "closed the connection";
  const { last } = sayings;
  return `It ${why}${last === undefined ? "" : `, after saying: ${last}`}`;
}

/** The connection went, so there was no answer and none will come. */
export function isLost(error: unknown): boolean {
  return error instanceof TrunklineError && error.code === "closed";
}
