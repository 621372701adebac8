import type { Capability, DataApp } from "../../base/capability/capability.ts";

/** The HTTP server, and who may reach it. */
export const serve: Capability<DataApp> = {
  routes: async ({ config }) => {
    const { AccessTokens } = await import("../../store/access/access-tokens.ts");
    const { tokenRoutes } = await import("./token-routes.ts");
    const { loginRoutes } = await import("./login-routes.ts");
    const { ServerLogins } = await import("../../upstream/open/server-logins.ts");
    const tokens = new AccessTokens(config.data);
    const logins = new ServerLogins({ data: config.data, env: process.env });
    const revoked = (by: string) => logins.endTokenless(tokens.list(), by);
    return [...tokenRoutes(tokens, revoked), ...loginRoutes(logins)];
  },
};
