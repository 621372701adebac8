import type { DEFAULT_LIMITS } from "./limits.ts";

/** A limit that can be configured, as the schema of the configuration and the documents tell it. */
export interface LimitEntry {
  readonly unit: "bytes" | "milliseconds" | "requests" | "levels" | "units";
  readonly minimum: number;
  readonly maximum: number;
  /** What it bounds, as a sentence that begins with the unit. */
  readonly bounds: string;
  /** What happens beyond it. */
  readonly beyond: string;
}

const KIB = 1024;
const MIB = 1024 * KIB;
const GIB = 1024 * MIB;

/** Every key of `limits` in the configuration that is a number. */
export const LIMIT_TABLE: Readonly<Record<keyof typeof DEFAULT_LIMITS, LimitEntry>> = {
  maxMessage: {
    unit: "bytes",
    minimum: KIB,
    maximum: 256 * MIB,
    bounds: "Bytes of one incoming message; at least 32 MiB for one of a configured MCP server.",
    beyond:
      "It is answered with -32600, with its id if that can be found, and skipped in " +
      "bounded memory. A WebSocket frame of more than twice as many closes the connection.",
  },
  highWater: {
    unit: "bytes",
    minimum: KIB,
    maximum: GIB,
    bounds: "Unsent bytes above which a sender is asked to wait.",
    beyond: "Nothing more is read from the peer until it has read.",
  },
  maxUnsent: {
    unit: "bytes",
    minimum: KIB,
    maximum: GIB,
    bounds: "Unsent bytes above which the connection of a peer that does not read is closed.",
    beyond: "The connection is closed.",
  },
  maxBuffered: {
    unit: "bytes",
    minimum: MIB,
    maximum: 16 * GIB,
    bounds:
      "Bytes that all unfinished bodies and messages that wait to be sent or read may take " +
      "together, beyond the first 64 KiB of each; never less than two messages.",
    beyond:
      "HTTP is answered with 503 and `Retry-After`, a WebSocket is closed with 1013, the connection " +
      "of a peer that does not read is closed, and streams keep fewer events for clients that reconnect.",
  },
  closeGrace: {
    unit: "milliseconds",
    minimum: 0,
    maximum: 600_000,
    bounds: "Milliseconds that closing waits for a peer to read unsent bytes.",
    beyond: "Bytes that are still unsent are dropped.",
  },
  maxInFlight: {
    unit: "requests",
    minimum: 1,
    maximum: 1_000_000,
    bounds: "Requests of one peer that may wait for an answer at once.",
    beyond: "A further request is answered with -32028. A batch holds no more messages than this.",
  },
  maxDepth: {
    unit: "levels",
    minimum: 16,
    maximum: 1_000,
    bounds: "Levels of nesting in one message.",
    beyond: "The message is answered with -32600.",
  },
  maxWork: {
    unit: "units",
    minimum: 10_000,
    maximum: 100_000_000,
    bounds: "Estimated work of parsing one message, in units of about 50 ns.",
    beyond:
      "The message is answered with -32600: `[[],[],…` of 10 MiB would block the event loop for a " +
      "second. One of a configured MCP server is parsed in another thread instead.",
  },
};
