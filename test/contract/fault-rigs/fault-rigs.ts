import { noNats } from "../../support/nats-server.ts";
import type { FaultRig } from "../store-fault-contract.ts";
import { acpOnStdio, acpOnWebSocket, acpWithBuiltIn } from "./acp-rig.ts";
import { bus } from "./bus-rig.ts";
import { commandLine } from "./cli-rig.ts";
import { dashboard } from "./dashboard-rig.ts";
import { sharedStores, workerSessions } from "./fleet-rig.ts";
import { notifications } from "./notify-rig.ts";
import { mcpAfterTakeover, mcpThroughRelay } from "./relay-rig.ts";
import { remoteRuns } from "./runs-rig.ts";
import { juggler, mcpOnHttp, mcpOnStdio } from "./tools-rig.ts";

/** Each door, with all that stands behind it. */
export const FAULT_RIGS: Readonly<Record<string, () => Promise<FaultRig>>> = {
  "ACP on standard streams": acpOnStdio,
  "ACP with the built-in agent": acpWithBuiltIn,
  "ACP on a WebSocket": acpOnWebSocket,
  "MCP on standard streams": mcpOnStdio,
  "MCP over HTTP": mcpOnHttp,
  "RemoteJuggler's dialect": juggler,
  "the plugin bus": bus,
  "the command line": commandLine,
};

/** The same of a whole gateway, whose rounds take longer. */
export const GATEWAY_FAULT_RIGS: typeof FAULT_RIGS = {
  "MCP through a relay": mcpThroughRelay,
  "MCP after a takeover": mcpAfterTakeover,
  "the dashboard": dashboard,
  notifications,
  ...(noNats === false
    ? { "a worker of a fleet": workerSessions, "what a fleet shares": sharedStores }
    : {}),
};

/** The same of which each round starts git and several agents, which takes seconds. */
export const SLOW_FAULT_RIGS: typeof FAULT_RIGS = { "remote runs": remoteRuns };
