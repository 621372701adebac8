import type { Dialect } from "../../rpc/peer-options.ts";

/** Model Context Protocol, on connections that begin with `initialize`. */
export const mcpDialect: Dialect = {
  name: "mcp",
  batches: false,
  nullIdIsNotification: false,
  // "Receivers of a cancellation notification SHOULD … not send a response for the cancelled
  // request": the one place where a request has no answer.
  cancel: { method: "notifications/cancelled" },
  methodNotFound: () => "Method not found",
};
