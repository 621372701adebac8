import { setTimeout as sleep } from "node:timers/promises";

import { type OpenedTools, openTools } from "../../gateway/tool/open-tools.ts";
import type { Invocation } from "../shell/command.ts";
import { visibleLine } from "../../base/text/visible.ts";
import { quietHouse } from "../shell/open-house.ts";
import type { Finding } from "./doctor.ts";

/** Milliseconds that servers are waited for; the first start of one may fetch it from a registry. */
const PATIENCE = 20_000;

/** How the configured MCP servers are, and whether something of theirs waits for a person. */
export async function checkServers(invocation: Invocation): Promise<Finding[]> {
  const house = await quietHouse({ ...invocation, err: () => {} });
  const names = Object.keys(house.config.mcpServers);
  if (names.length === 0) {
    return [{ state: "ok", what: "MCP servers", says: "none are configured" }];
  }
  await using opened = await openTools(house);
  const patience = new AbortController();
  const late = sleep(PATIENCE, undefined, { signal: patience.signal }).catch(() => {});
  await Promise.race([opened.started(), late]);
  patience.abort();
  const findings = opened.status().map(findingOf);
  const held = opened.offer.tools.held().length;
  if (held === 0) return findings;
  const next = "Look at them with `trunkline tools diff`.";
  return [...findings, { state: "warn", what: "Held tools", says: String(held), next }];
}

function findingOf({
  name,
  state,
  lastError,
  said,
}: ReturnType<OpenedTools["status"]>[number]): Finding {
  const what = `MCP server '${visibleLine(name)}'`;
  if (state === "up") return { state: "ok", what, says: state };
  if (state === "starting") {
    const last = said.at(-1);
    const words = last === undefined ? "" : `, and said last: ${visibleLine(last)}`;
    const next = "`npx -y` fetches a server when it is first started: look again in a minute.";
    return { state: "warn", what, says: `still starting after ${PATIENCE / 1000} s${words}`, next };
  }
  const next = "Run its command by hand to see why, or take it out of `mcpServers`.";
  const why = lastError === undefined ? "" : `: ${visibleLine(lastError)}`;
  return { state: "fail", what, says: `${state}${why}`, next };
}
