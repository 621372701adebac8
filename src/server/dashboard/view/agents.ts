import { addCommand, type InstalledAgent } from "../../../agent/installed-agents.ts";
import { addAgent, offeredAgents } from "../../../agent/open/offered-agents.ts";
import { type ApiRoute, route, textIn } from "../../../base/capability/api-route.ts";
import { TrunklineError } from "../../../base/errors.ts";
import type { Log } from "../../../base/log.ts";
import type { ConfigInput } from "../../../config/config.ts";
import { loadConfig } from "../../../config/load.ts";
import type { AddedAgent, OfferedAgent, OfferedAgents } from "../api.ts";
import { routeRefusal } from "../router.ts";

/** Agents that are installed on this machine, offered where new sessions would have no model. */
export function agentRoutes(input: ConfigInput, log: Log): readonly ApiRoute[] {
  // The configuration as it is now: it may have changed since the server was started.
  const offered = async (): Promise<readonly InstalledAgent[]> => {
    return offeredAgents({ config: (await loadConfig(input)).config, log, env: input.env });
  };
  const add = route("POST /api/agents/add", "programs", async ({ body }): Promise<AddedAgent> => {
    const [name, runs] = [textIn(body, "name"), textIn(body, "runs")];
    const agent = (await offered()).find((each) => each.name === name && runsOf(each) === runs);
    if (agent === undefined) {
      const says = "It is not offered any more, or would run something else. Look again.";
      throw new TrunklineError("conflict", `Cannot add agent '${name.slice(0, 100)}': ${says}`);
    }
    const { file, notes } = await addAgent(input, agent);
    return { ok: true, file, notes };
  });
  const list = route("GET /api/agents", "admin", async ({ principal }): Promise<OfferedAgents> => {
    const agents = (await offered()).map(rowOf);
    return { agents, mayAdd: routeRefusal(principal, add) === undefined };
  });
  return [list, add];
}

function rowOf(agent: InstalledAgent): OfferedAgent {
  return { name: agent.name, path: agent.path, runs: runsOf(agent), command: addCommand(agent) };
}

function runsOf({ command, args }: InstalledAgent): string {
  return [command, ...args].join(" ");
}
