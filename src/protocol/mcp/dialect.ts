import type { Dialect } from "../../rpc/peer-options.ts";

/** Model Context Protocol, on connections that begin with `initialize`. */
export const mcpDialect: Dialect = {
  name: "mcp",
  batches: false,
  nullIdIsNotification: false,
  // MCP 2025-11-25, basic/utilities/cancellation § Behavior Requirements: no response is sent for a
  // cancelled request.
  cancel: { method: "notifications/cancelled" },
  methodNotFound: () => "Method not found",
};
