import { type LimitTable, limitsFor } from "../../base/limits.ts";
import { VERSION } from "../../base/version.ts";
import type { PeerOptions } from "../../rpc/peer-options.ts";
import { route, routes } from "../../rpc/route.ts";
import { acpDialect } from "./dialect.ts";
import { initialize } from "./methods.ts";

const PROTOCOL_VERSION = 1;

/** The agent's side of ACP: what an editor is answered with. */
export function acpServer(limits?: LimitTable): PeerOptions<undefined> {
  const { maxSize, timeout } = limitsFor("initialize", limits);
  return {
    dialect: acpDialect,
    routes: routes<undefined>(
      route(
        initialize,
        () => ({
          // A version we do not speak is never echoed.
          protocolVersion: PROTOCOL_VERSION,
          agentCapabilities: { loadSession: false },
          agentInfo: { name: "trunkline", version: VERSION },
          authMethods: [],
        }),
        {
          ...(maxSize === undefined ? {} : { maxSize }),
          ...(timeout === undefined ? {} : { timeout }),
        },
      ),
    ),
  };
}
