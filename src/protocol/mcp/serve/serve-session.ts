import { type Route, route } from "../../../rpc/route.ts";
import { method } from "../../../rpc/method.ts";
import { isModern, type JsonObject } from "./client.ts";
import type { Connection } from "./connection.ts";
import type { McpDoor } from "./door.ts";
import { METHODS } from "../methods.ts";
import { TASKS_EXTENSION } from "../names.ts";
import { relayNotices } from "./relay-notices.ts";
import { UNCACHED } from "./result.ts";
import { REVISIONS, type Revision } from "../revision/revisions.ts";

/** Getting to know each other, and what little there is to say about the connection itself. */
export function serveSession(door: McpDoor): Route<Connection>[] {
  const { routes, info, instructions } = door;
  const said = instructions === undefined ? {} : { instructions };
  return [
    routes.serve(
      METHODS.initialize,
      ({ params, call }) => {
        const { protocolVersion, capabilities = {}, clientInfo } = params;
        const revision = call.state.agree(protocolVersion, capabilities, clientInfo);
        door.welcome(call.state, call.peer);
        return {
          protocolVersion: revision,
          capabilities: door.capabilities?.(revision) ?? capabilitiesOf(revision),
          serverInfo: info,
          ...said,
        };
      },
      { eras: "legacy" },
    ),
    routes.serve(
      METHODS.discover,
      () => {
        const capabilities = capabilitiesOf(REVISIONS[0]);
        return { supportedVersions: REVISIONS, capabilities, ...said };
      },
      { eras: "modern", caching: UNCACHED },
    ),
    routes.serve(METHODS.ping, () => ({}), { eras: "legacy" }),
    routes.serve(
      METHODS.setLevel,
      ({ params, call }) => {
        call.state.logLevel = params.level;
        relayNotices(door.offer.notices, call.state, call.peer);
        return {};
      },
      { eras: "legacy" },
    ),
    route(method<JsonObject>("notifications/initialized"), () => {}),
    route<JsonObject, void, Connection>(method("notifications/roots/list_changed"), (_, call) => {
      call.state.roots.changed();
    }),
  ];
}

/** What we can do, as far as the revision has a word for it. */
function capabilitiesOf(revision: Revision): JsonObject {
  const modern = isModern({ revision, capabilities: {}, name: "", logLevel: undefined });
  return {
    tools: { listChanged: true },
    resources: { subscribe: true, listChanged: true },
    prompts: { listChanged: true },
    logging: {},
    ...(revision >= "2025-03-26" ? { completions: {} } : {}),
    ...(revision === "2025-11-25"
      ? { tasks: { list: {}, cancel: {}, requests: { tools: { call: {} } } } }
      : {}),
    ...(modern ? { extensions: { [TASKS_EXTENSION]: {} } } : {}),
  };
}
