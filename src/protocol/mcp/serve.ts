import { VERSION } from "../../base/version.ts";
import type { PeerOptions } from "../../rpc/peer-options.ts";
import { route, routes } from "../../rpc/route.ts";
import { mcpDialect } from "./dialect.ts";
import { initialize, listTools, ping } from "./methods.ts";
import { agreeOn } from "./revision.ts";

/** The server's side of MCP: what a connection is answered with. */
export const mcpServer: PeerOptions<undefined> = {
  dialect: mcpDialect,
  routes: routes<undefined>(
    route(initialize, ({ protocolVersion }) => ({
      protocolVersion: agreeOn(protocolVersion),
      capabilities: { tools: {} },
      serverInfo: { name: "trunkline", version: VERSION },
    })),
    route(ping, () => ({})),
    route(listTools, () => ({ tools: [] })),
  ),
};
