import type { Capability, DataApp } from "../../base/capability/capability.ts";

/** What is told of the work: the log, traces, the audit. */
export const telemetry: Capability<DataApp> = {
  routes: async ({ config }) => {
    const { auditRoutes } = await import("./audit-routes.ts");
    return auditRoutes(config.data);
  },
};
