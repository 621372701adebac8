import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from "node:http";

import type { Principal } from "../../../../base/principal.ts";
import type { PeerOptions } from "../../../../rpc/peer-options.ts";
import { type ChannelLimits, resolveChannelLimits } from "../../../../wire/channel.ts";
import type { JsonObject } from "../../json-object.ts";
import type { McpDoor } from "../door.ts";

/** Bounds of MCP on HTTP; times are milliseconds. */
export interface McpHttpLimits {
  /** How often an event stream that is silent gets a sign of life. */
  readonly keepAlive: number;
  /** How long a connection may wait for an answer before its client must come back for it. */
  readonly longestConnection: number;
  /** After what time a client comes back. */
  readonly retry: number;
  /** How long a session is kept that nobody uses. */
  readonly sessionIdle: number;
  readonly maxSessions: number;
  /** Events of one session that are kept for clients who come back. */
  readonly maxLoggedEvents: number;
  readonly maxLoggedBytes: number;
}

const HOUR = 60 * 60_000;

export const DEFAULT_MCP_HTTP_LIMITS: McpHttpLimits = {
  keepAlive: 15_000,
  longestConnection: Infinity,
  retry: 500,
  // Most clients do not begin anew by themselves, so a session outlives a night.
  sessionIdle: 24 * HOUR,
  maxSessions: 1000,
  maxLoggedEvents: 1000,
  maxLoggedBytes: 4 * 1024 * 1024,
};

/** Who asks, or why that may not be. */
export type Authorization =
  | { readonly principal: Principal }
  | {
      readonly status: 400 | 401 | 403 | 429 | 503;
      readonly message: string;
      /** Such as `www-authenticate`. */
      readonly headers?: OutgoingHttpHeaders;
    };

export interface McpHttpOptions {
  readonly door: McpDoor;
  /** Looks at every request before anything else does; all may come in when left out. */
  readonly authorize?: (
    request: IncomingMessage,
    response: ServerResponse,
  ) => Authorization | Promise<Authorization>;
  /** OAuth protected resource metadata (RFC 9728), where there is an authorization server. */
  readonly resourceMetadata?: JsonObject;
  readonly limits?: Partial<McpHttpLimits>;
  readonly channelLimits?: Partial<ChannelLimits>;
  /** Puts the house's limits and its log around a peer. */
  readonly withLimits?: <S>(options: PeerOptions<S>) => PeerOptions<S>;
  /** A session began, or is over. */
  readonly onSession?: (change: "opened" | "closed") => void;
}

export interface ResolvedMcpHttpOptions extends McpHttpOptions {
  readonly limits: McpHttpLimits;
  readonly channelLimits: ChannelLimits;
  readonly withLimits: <S>(options: PeerOptions<S>) => PeerOptions<S>;
  readonly onSession: (change: "opened" | "closed") => void;
}

export function resolveMcpHttpOptions(options: McpHttpOptions): ResolvedMcpHttpOptions {
  return {
    ...options,
    limits: { ...DEFAULT_MCP_HTTP_LIMITS, ...options.limits },
    channelLimits: resolveChannelLimits(options.channelLimits),
    withLimits: (door) => quiet(options.withLimits?.(door) ?? door),
    onSession: options.onSession ?? (() => {}),
  };
}

/** On HTTP a client that closes a connection does nothing out of the ordinary. */
function quiet<S>(options: PeerOptions<S>): PeerOptions<S> {
  const { report } = options;
  if (report === undefined) return options;
  return {
    ...options,
    report: (event, fields) => {
      if (event !== "rpc.connection-failed") report(event, fields);
    },
  };
}
