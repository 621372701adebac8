import { TrunklineError } from "../base/errors.ts";
import type { Era } from "../protocol/mcp/connect/handshake.ts";
import { LARGEST_LIST } from "../protocol/mcp/connect/lists.ts";
import { McpClient, type McpClientOptions } from "../protocol/mcp/connect/connect.ts";
import { LostRequest } from "../rpc/pending-requests.ts";
import { type ChannelLimits, resolveChannelLimits } from "../wire/channel.ts";
import type { Link, OpenLink } from "./link.ts";
import type { StderrLog } from "../base/process/stderr-log.ts";
import type { UpstreamSettings } from "./settings.ts";

export interface ConnectOptions {
  readonly settings: UpstreamSettings;
  readonly open: OpenLink;
  readonly era: Era;
  readonly stderrLog: StderrLog;
  readonly channelLimits: Partial<ChannelLimits>;
  readonly client: McpClientOptions;
  readonly signal: AbortSignal;
}

/** A server that is up, and the way to it. */
export interface ConnectedUpstream {
  readonly client: McpClient;
  readonly link: Link;
}

/** Starts an upstream and does the handshake. A process that was started is ended when that fails. */
export async function connectUpstream(options: ConnectOptions): Promise<ConnectedUpstream> {
  try {
    return await connectAs(options.era, options);
  } catch (error) {
    // Some programs exit on a first message other than `initialize`: start again with that.
    if (options.era !== "auto" || !isLost(error) || options.signal.aborted) throw error;
    return connectAs("legacy", options);
  }
}

async function connectAs(era: Era, options: ConnectOptions): Promise<ConnectedUpstream> {
  const { settings, open, stderrLog, channelLimits, signal } = options;
  const said = (line: string): void => stderrLog.add(line);
  // One answer may be a whole list.
  const maxMessage = Math.max(resolveChannelLimits(channelLimits).maxMessage, LARGEST_LIST);
  const limits = { ...channelLimits, maxMessage };
  const link = await open(settings, { said }, limits, options.client.name ?? "");
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
      error instanceof LostRequest ? `It ${error.message}` : await whyEnded(link, stderrLog);
    throw new TrunklineError("closed", why, { cause: error });
  }
}

/** Why the connection ended, with the last line of stderr. */
export async function whyEnded(link: Link, stderrLog: StderrLog): Promise<string> {
  const why = (await link.ended) ?? "closed the connection";
  const { last } = stderrLog;
  return `It ${why}${last === undefined ? "" : `, after saying: ${last}`}`;
}

/** The connection went, so there was no answer and none will come. */
export function isLost(error: unknown): boolean {
  return error instanceof TrunklineError && error.code === "closed";
}
