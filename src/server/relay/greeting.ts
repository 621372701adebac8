import type { UpstreamStatus } from "../../upstream/upstream.ts";
import type { Terms } from "./terms.ts";

/** Shows that a process is one of the owner's: see `OwnProcess`. */
interface Proven {
  readonly proof: string;
}

/** The first message to a gateway's socket: who wants to be served. */
export interface Greeting extends Terms, Proven {
  readonly protocol: "mcp";
  /** The folder that the client has started the process in. */
  readonly folder: string;
  /** The profile that the process was started with. */
  readonly profile?: string | undefined;
}

/** The first message of whoever only wants to know how the servers are. The answer is a `ServersNow`. */
export interface StatusQuestion extends Proven {
  readonly protocol: "status";
}

/** How the MCP servers of a gateway are. */
export interface ServersNow {
  readonly servers: readonly UpstreamStatus[];
  readonly refused?: string;
}

/** The first message back. After a refusal the connection is closed. */
export type Welcome = { readonly isAccepted: true } | { readonly refused: string };

/**
 * The last message of a gateway that stops: it takes no new requests, and closes the connection when
 * the open ones are answered, or soon after.
 */
export const CLOSING = `{"jsonrpc":"2.0","method":"trunkline/closing"}`;
