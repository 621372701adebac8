import { openTools } from "../../gateway/open-tools.ts";
import type { Invocation } from "../command.ts";
import { visibleLine } from "../../base/visible.ts";
import { quietHouse } from "../quiet-house.ts";
import type { Finding } from "./finding.ts";

/** How the configured MCP servers are, and whether something of theirs waits for a person. */
export async function checkServers(invocation: Invocation): Promise<Finding[]> {
  const house = await quietHouse({ ...invocation, err: () => {} });
  const names = Object.keys(house.config.mcpServers);
  if (names.length === 0) {
    return [{ state: "ok", what: "MCP servers", says: "none are configured" }];
  }
  await using opened = await openTools(house);
  await opened.known();
  const findings = opened.status().map(({ name, state, lastError }): Finding => {
    const what = `MCP server '${visibleLine(name)}'`;
    if (lastError === undefined) return { state: "ok", what, says: state };
    const next = "Run its command by hand to see why, or take it out of `mcpServers`.";
    return { state: "fail", what, says: `${state}: ${lastError}`, next };
  });
  const held = opened.offer.tools.held().length;
  if (held === 0) return findings;
  const next = "Look at them with `trunkline tools diff`.";
  return [...findings, { state: "warn", what: "Held tools", says: String(held), next }];
}
