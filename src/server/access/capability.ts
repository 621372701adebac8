import type { Capability, DataApp } from "../../base/capability/capability.ts";

/** The HTTP server, and who may reach it. */
export const serve: Capability<DataApp> = {
  routes: async ({ config }) => {
    const { AccessTokens } = await import("../../store/access/access-tokens.ts");
    const { tokenRoutes } = await import("./token-routes.ts");
    return tokenRoutes(new AccessTokens(config.data));
  },
};
