import { ACP } from "../../rpc/codes.ts";
import type { Dialect } from "../../rpc/peer-options.ts";

/** Agent Client Protocol. */
export const acpDialect: Dialect = {
  name: "acp",
  batches: false,
  // ACP message specification § Message Structure: the id is null for notifications.
  nullIdIsNotification: true,
  cancel: { method: "$/cancel_request", answer: ACP.cancelled },
  methodNotFound: () => "Method not found",
};
