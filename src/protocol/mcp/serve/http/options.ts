import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from "node:http";

import type { Principal } from "../../../../base/principal.ts";
import type { PeerOptions } from "../../../../rpc/peer-options.ts";
import { type ChannelLimits, resolveChannelLimits } from "../../../../wire/channel.ts";
import type { JsonObject } from "../../json-object.ts";
import type { McpDoor } from "../door.ts";

/** Bounds of MCP on HTTP; times are milliseconds. */
export interface McpHttpLimits {
  /** The interval of keep-alives on a silent event stream. */
  readonly keepAlive: number;
  /** How long a response may stay open before its client must resume it. */
  readonly longestConnection: number;
  /** The `retry` of event streams: when a client reconnects. */
  readonly retry: number;
  /** How long an unused session is kept. */
  readonly sessionIdle: number;
  readonly maxSessions: number;
  /** Events of one session that are kept for clients who come back. */
  readonly maxLoggedEvents: number;
  readonly maxLoggedBytes: number;
}

const HOUR = 60 * 60_000;

const DEFAULT_MCP_HTTP_LIMITS: McpHttpLimits = {
  keepAlive: 15_000,
  longestConnection: Infinity,
  retry: 500,
  // Most clients do not start a new session by themselves, so one outlives a night.
  sessionIdle: 24 * HOUR,
  maxSessions: 1000,
  maxLoggedEvents: 1000,
  maxLoggedBytes: 4 * 1024 * 1024,
};

/** The principal of a request, or why it is refused. */
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
  /** Authorizes each request first; all are accepted when left out. */
  readonly authorize?: (
    request: IncomingMessage,
    response: ServerResponse,
  ) => Authorization | Promise<Authorization>;
  /** OAuth protected resource metadata (RFC 9728), where there is an authorization server. */
  readonly resourceMetadata?: JsonObject;
  readonly limits?: Partial<McpHttpLimits>;
  readonly channelLimits?: Partial<ChannelLimits>;
  /** Adds the configured limits and the log to a peer's options. */
  readonly withLimits?: <S>(options: PeerOptions<S>) => PeerOptions<S>;
  /** A session began, or is over. */
  readonly onSession?: (change: "opened" | "closed") => void;
}

export type ResolvedMcpHttpOptions = ReturnType<typeof resolveMcpHttpOptions>;

export function resolveMcpHttpOptions(options: McpHttpOptions) {
  return {
    ...options,
    limits: { ...DEFAULT_MCP_HTTP_LIMITS, ...options.limits },
    channelLimits: resolveChannelLimits(options.channelLimits),
    withLimits: <S>(door: PeerOptions<S>) => quiet(options.withLimits?.(door) ?? door),
    onSession: options.onSession ?? (() => {}),
  };
}

/** On HTTP a closed connection is normal: it is not reported. */
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
