import { join } from "node:path";

import { OWNER } from "../../base/principal.ts";
import { busTransport } from "../../plugin/open/bus.ts";
import { serveStdio } from "./serve-stdio.ts";
import type { AppContext } from "../../config/app-context.ts";
import { openAudit, repositoryOf } from "../tool/toolbox-parts.ts";
import { busCertificates } from "../../plugin/bus-certificates.ts";
import { BRIDGE_NAME, expectOrchestrator } from "../../plugin/guests.ts";
import { newRemoteBus } from "../../plugin/remote-bus.ts";
import { Connection } from "../../protocol/mcp/serve/connection.ts";
import { McpDoor } from "../../protocol/mcp/serve/door.ts";
import { Offer } from "../../tool/offer/offer.ts";
import { Policy } from "../../tool/policy.ts";

export interface BridgeOptions {
  readonly address: string;
  readonly certsDir: string | undefined;
  /** Writes a line to standard error. */
  readonly tell: (line: string) => void;
}

/**
 * Milliseconds for a list, and those that an orchestrator has beyond its own limit for a call to say
 * that the plugin did not answer.
 */
const LIST = 30_000;
const MARGIN = 5_000;

/** Orchestra transport.stdio: the `serverInfo` of its own bridge. */
const INFO = { name: "orchestra", version: "1.0.0" };

/** MCP on stdio for the tools of an orchestrator, as Orchestra's transport.stdio does it. */
export async function serveBridge(app: AppContext, options: BridgeOptions): Promise<void> {
  const { address, tell } = options;
  const { config, log } = app;
  const certificates = busCertificates(
    options.certsDir ?? config.bus.certsDir ?? join(config.data, "certs"),
    (message) => log.warn("bus.certificates", { message }),
    { makesAuthority: false },
  );
  const transport = await busTransport();
  await using bus = newRemoteBus({
    address,
    dial: async (signal) => {
      const credentials = await certificates.of(BRIDGE_NAME);
      return expectOrchestrator(await transport.connect(address, { credentials, signal }));
    },
    patience: { call: config.bus.callTimeout + MARGIN, list: LIST },
    connected: () => tell(`connected to orchestrator at ${address}`),
    lost: (reason) => tell(`lost the orchestrator at ${address}: ${reason.message}`),
  });
  using audit = openAudit(app);
  const offer = new Offer({
    policy: new Policy(config.policy.tools),
    audit,
    fallback: bus.anyTool,
    repositoryOf,
  });
  bus.offerIn(offer);
  // The orchestrator may start later: until then, what needs no plugin is answered.
  let isOver = false;
  bus.connect().catch((error: unknown) => {
    if (!isOver) tell((error as Error).message);
  });
  const door = new McpDoor({
    offer,
    info: INFO,
    announcesChanges: false,
    rootsTimeout: app.rootsTimeout,
    // Orchestra transport.stdio: `{"tools":{}}` in 2024-11-05, the revision that it knows.
    capabilities: { "2024-11-05": { tools: {} } },
    methodNotFound: (method) => `method not found: ${method}`,
  });
  using connection = new Connection(OWNER, process.cwd());
  await serveStdio(app, connection, door.optionsFor(connection));
  isOver = true;
}
