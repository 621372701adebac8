import { type Route, route } from "../../../rpc/route.ts";
import { method } from "../../../rpc/method.ts";
import type { Client, Connection } from "./connection.ts";
import type { JsonObject } from "../json-object.ts";
import type { McpDoor } from "./door.ts";
import { METHODS } from "../methods.ts";
import { relayNotices } from "./relay-notices.ts";
import { UNCACHED } from "./list-result.ts";
import { REVISIONS } from "../revision/revisions.ts";

/** initialize, server/discover, ping and logging/setLevel. */
export function serveSession(door: McpDoor): Route<Connection>[] {
  const { routes, info } = door;
  const said = (client: Client, connection: Connection): JsonObject => {
    const instructions = door.instructions?.(door.profileOf(client, connection));
    return instructions === undefined ? {} : { instructions };
  };
  return [
    routes.serve(METHODS.initialize, ({ params, call }) => {
      // MCP 2025-11-25, basic/lifecycle § Initialization.
      const { protocolVersion, capabilities = {}, clientInfo } = params;
      const codec = call.state.agree(protocolVersion, capabilities, clientInfo);
      door.welcome(call.state, call.peer);
      return {
        protocolVersion: codec.revision,
        capabilities: door.capabilities[codec.revision] ?? codec.serverCapabilities,
        serverInfo: info,
        ...said(call.state.client, call.state),
      };
    }),
    routes.serve(
      METHODS.discover,
      ({ client, call }) => {
        const capabilities = client.codec.serverCapabilities;
        return { supportedVersions: REVISIONS, capabilities, ...said(client, call.state) };
      },
      { caching: UNCACHED },
    ),
    routes.serve(METHODS.ping, () => ({})),
    routes.serve(METHODS.setLevel, ({ params, call }) => {
      call.state.logLevel = params.level;
      relayNotices(door, call.state, call.peer);
      return {};
    }),
    route(method<JsonObject>("notifications/initialized"), () => {}),
    route<JsonObject, void, Connection>(method("notifications/roots/list_changed"), (_, call) => {
      call.state.roots.changed();
    }),
  ];
}
