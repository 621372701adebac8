import type { ActsAs, AgentIdentity } from "../../agent/command-environment.ts";
import type { House } from "../house.ts";
import { identitiesAtHand } from "../identity/current-identities.ts";

/**
 * Whom an agent acts as to git in a folder: who its configuration names, else who the folder is for.
 * Nobody where none can be told; it then acts as whoever runs us.
 */
export function agentIdentity(
  house: House,
  chosen: string | undefined,
  env: NodeJS.ProcessEnv = process.env,
): ActsAs {
  return async (cwd) => {
    await using commands = await identitiesAtHand(house, cwd, env);
    const actAs = (name: string): AgentIdentity => {
      // What is wrong with it is told before an agent is started as somebody else.
      commands.environment(name, {});
      return { name, environment: (base) => commands.environment(name, base) };
    };
    if (chosen !== undefined) return actAs(chosen);
    if (commands.identities.list.length === 0) return undefined;
    try {
      const name = await commands.identities.right(cwd);
      return name === undefined ? undefined : actAs(name);
    } catch (error) {
      house.log.warn("agent.no-identity", { cwd, error });
      return undefined;
    }
  };
}
