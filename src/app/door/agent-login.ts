import { KnownAgents } from "../../agent/known-agents.ts";
import type { AppContext } from "../../config/app-context.ts";
import { BUILT_IN } from "../../config/config.ts";
import type { AcpDoorOptions } from "../../protocol/acp/door.ts";

/** The optional capabilities that the built-in agent has. */
const OWN = { protocolVersion: 1, agentCapabilities: { mcpCapabilities: { acp: true } } };

/** What a door needs so that people can log in to agents. */
export function agentLogin({ config }: AppContext): Pick<AcpDoorOptions, "known" | "loginCommand"> {
  return {
    known: (name = config.agent.name) => {
      if (name === BUILT_IN) return { name, hello: OWN };
      const agent = Object.hasOwn(config.agents, name) ? config.agents[name] : undefined;
      const hello = agent && new KnownAgents(config.data).find(name, agent);
      return hello && { name, hello };
    },
    // The terminal of an editor on this machine starts us again.
    loginCommand: [process.execPath, process.argv[1] ?? "trunkline", "acp"],
  };
}
