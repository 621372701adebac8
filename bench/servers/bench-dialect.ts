import type { Dialect } from "../../src/rpc/peer-options.ts";

export const benchDialect: Dialect = {
  name: "bench",
  batches: false,
  nullIdIsNotification: false,
  cancel: { method: "notifications/cancelled" },
  methodNotFound: () => "Method not found",
};
