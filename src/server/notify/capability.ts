import type { Capability, DataApp } from "../../base/capability/capability.ts";

/** Notifications to people who are away. */
export const notifications: Capability<DataApp> = {
  routes: async ({ config }) => {
    const { notificationRoutes } = await import("./deliveries.ts");
    return notificationRoutes(config.data);
  },
};
