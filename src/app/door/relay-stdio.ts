import { announcedStdio } from "./announced-stdio.ts";
import { openMcp } from "./mcp-on-stdio.ts";
import { untilOver } from "./until-over.ts";
import type { AppContext } from "../../config/app-context.ts";
import { mcpRelay } from "../../server/relay/mcp-relay.ts";
import { reachGateway } from "../../server/relay/reach-gateway.ts";
import { termsOf } from "../../server/relay/terms.ts";

/**
 * Relays the standard streams to a gateway that would serve them as this process would. False if there
 * is none, and nothing was read.
 */
export async function relayStdio(
  app: AppContext,
  sockets: readonly string[],
  env: NodeJS.ProcessEnv,
  profile?: string,
): Promise<boolean> {
  const { config, log } = app;
  const { limits } = config;
  const gateway = await reachGateway({
    data: config.data,
    sockets,
    greeting: { protocol: "mcp", folder: process.cwd(), profile, ...termsOf(config, env) },
    // An answer is the result of another server, which may be as long as a message, and its envelope.
    limits: { ...limits, maxMessage: 2 * limits.maxMessage },
    refused: (why) => log.info("relay.alone", { why: `The gateway ${why}` }),
  });
  if (gateway === undefined) return false;
  const relay = mcpRelay({
    client: announcedStdio(app, "assistant"),
    gateway,
    open: (channel, firstId) => openMcp(app, channel, { firstId, profile }),
    tookOver: () => log.info("relay.took-over"),
  });
  await untilOver(relay);
  return true;
}
