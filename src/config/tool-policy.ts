import type { PolicyRule, PolicySettings } from "../tool/policy.ts";
import type { Config } from "./config.ts";

/**
 * The policy for tool calls. What a server's settings approve comes after the rules, so that a rule of
 * the person always counts.
 */
export function toolPolicy(config: Pick<Config, "policy" | "mcpServers">): PolicySettings {
  const approved = Object.entries(config.mcpServers).flatMap(([server, { autoApprove = [] }]) => {
    // In a rule, `*` in the name would match other servers, too.
    if (server.includes("*")) return [];
    // If two servers have a tool of the same name, it is offered with its server's name in front.
    const tools = autoApprove.flatMap((tool) => [tool, `${server}_${tool}`]);
    return tools.map((tool): PolicyRule => ({ server, tool, decision: "allow" }));
  });
  const { tools } = config.policy;
  return { default: tools.default, rules: [...tools.rules, ...approved] };
}
