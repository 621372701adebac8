import type { ActsAs } from "../agent/agent-identity.ts";
import type { House } from "./house.ts";
import type { Identities } from "./identities.ts";
import { identitiesAtHand } from "./identities-at-hand.ts";

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
    await using desk = await identitiesAtHand(house, cwd, env);
    const { identities } = desk;
    const name = chosen ?? (await rightName(house, identities, cwd));
    if (name === undefined) return undefined;
    // One that does not exist is told before the agent is started as somebody else.
    identities.find(name);
    return { name, environment: (base) => desk.environment(name, base) };
  };
}

async function rightName(
  { log }: House,
  identities: Identities,
  cwd: string,
): Promise<string | undefined> {
  if (identities.list.length === 0) return undefined;
  try {
    return await identities.right(cwd);
  } catch (error) {
    log.warn("agent.no-identity", { cwd, error });
    return undefined;
  }
}
