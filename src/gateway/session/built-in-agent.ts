import { BuiltInAgent } from "../../agent/built-in-agent.ts";
import type { OpenServers } from "../../agent/session-servers.ts";
import type { Audit } from "../../tool/audit.ts";
import type { Offer } from "../../tool/offer/offer.ts";
import { Policy } from "../../tool/policy.ts";
import { agentIdentity } from "./agent-identity.ts";
import type { House } from "../house.ts";
import { configuredModels } from "../../agent/models/model-commands.ts";
import { reviewComments } from "./review-comments.ts";

export interface OpenBuiltInOptions {
  /** The toolbox of the house, opened when a model is to be offered its tools. */
  readonly offer: () => Promise<Offer>;
  readonly audit: Audit;
  readonly env?: NodeJS.ProcessEnv;
}

/** The built-in agent with the parts of this house. */
export function openBuiltInAgent(house: House, options: OpenBuiltInOptions): BuiltInAgent {
  const { data, models } = house.config;
  const { offer, env = process.env } = options;
  return new BuiltInAgent({
    models: configuredModels({ settings: models, env, log: house.log }),
    data,
    offer,
    openServers: lazyServers(house, options.audit),
    reviews: reviewComments(data),
    actsAs: agentIdentity(house, undefined, env),
    limits: { maxSteps: models.maxSteps, toolTimeout: models.toolTimeout },
  });
}

/** Most sessions bring no servers along: what starts them is loaded for those that do. */
function lazyServers({ config, report }: House, audit: Audit): OpenServers {
  return async (servers, session) => {
    const { sessionServers } = await import("./session-servers.ts");
    const open = sessionServers({
      data: config.data,
      channelLimits: config.limits,
      toolbox: {
        policy: new Policy(config.policy.tools),
        audit,
        report,
      },
    });
    return open(servers, session);
  };
}
