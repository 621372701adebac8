import { suggest } from "../../base/text/suggest.ts";
import type { Config } from "./config.ts";
import { BUILT_IN } from "./defaults.ts";

/**
 * What is wrong with the agent that a configuration names. No start asks: where sessions are not
 * wanted, it is in nobody's way.
 */
export function agentProblem({ agent, agents }: Config): string | undefined {
  const names = [BUILT_IN, ...Object.keys(agents)];
  if (names.includes(agent)) return undefined;
  const [near] = suggest(agent, names);
  const hint = near === undefined ? "" : `; did you mean '${near}'?`;
  return `must be one of: ${names.join(", ")}${hint}`;
}
