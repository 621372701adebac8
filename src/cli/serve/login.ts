import { KnownAgents } from "../../agent/known-agents.ts";
import { TrunklineError } from "../../base/errors.ts";
import { usualVariables } from "../../base/process/environment.ts";
import type { Config } from "../../config/config.ts";
import { runCommand } from "../identity/identity.ts";

/**
 * `trunkline acp --login AGENT:METHOD`: editors run this in a terminal, for a login that an agent wants to
 * be done there (ACP authentication § Terminal). The agent's own program has the terminal.
 */
export async function logIn(login: string, { agents, data }: Config): Promise<number> {
  const at = login.indexOf(":");
  const name = login.slice(0, Math.max(0, at));
  const agent = Object.hasOwn(agents, name) ? agents[name] : undefined;
  const known = agent && new KnownAgents(data).find(name, agent)?.authMethods;
  const method = known?.find(({ id, type }) => type === "terminal" && id === login.slice(at + 1));
  if (agent === undefined || method === undefined) {
    const why = "no agent that was started before has this login for a terminal";
    throw new TrunklineError("usage", `Cannot log in by '${login.slice(0, 100)}': ${why}.`);
  }
  const { args, env } = method as { readonly args?: unknown; readonly env?: unknown };
  const more = Array.isArray(args) ? args.map(String) : [];
  const variables = Object.entries(env ?? {}).map(([key, value]) => [key, String(value)] as const);
  return await runCommand(agent.command, [...(agent.args ?? []), ...more], {
    cwd: process.cwd(),
    env: { ...usualVariables(), ...agent.env, ...Object.fromEntries(variables) },
  });
}
