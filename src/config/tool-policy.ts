import type { PolicyRule, PolicySettings } from "../tool/policy.ts";
import type { Config } from "./config.ts";

/**
 * The policy for tool calls. What a server's settings approve comes after the rules, so that a rule of
 * the person always counts.
 */
export function toolPolicy({
  policy,
  mcpServers,
}: Pick<Config, "policy" | "mcpServers">): PolicySettings {
  const approved = Object.entries(mcpServers).flatMap(([server, { autoApprove = [] }]) => {
    // In a rule the name would be a pattern, which means other servers, too.
    if (server.includes("*")) return [];
    // A tool whose name another server has too gets the name of its server before it.
    const tools = autoApprove.flatMap((tool) => [tool, `${server}_${tool}`]);
    return tools.map((tool): PolicyRule => ({ server, tool, decision: "allow" }));
  });
  const { rules } = policy.tools;
  return { default: policy.tools.default, rules: [...rules, ...approved] };
}
