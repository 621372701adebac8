import { setTimeout as sleep } from "node:timers/promises";

import { hasBus } from "../../gateway/bus/bus.ts";
import type { BusControl } from "../../gateway/bus/bus-control.ts";
import type { LoadedConfig } from "../../gateway/config/config.ts";
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

const BUS = "Plugin bus";

/** How the plugins are, where there should be any and a bus that runs can be asked. */
export async function checkBus(
  invocation: Invocation,
  { config }: LoadedConfig,
): Promise<Finding[]> {
  if (!hasBus(config)) return [];
  const { BusControl } = await import("../../gateway/bus/bus-control.ts");
  const house = await quietHouse(invocation);
  const asked = { address: undefined, certsDir: undefined };
  try {
    await using bus = await BusControl.connect(house, asked);
    return await pluginFindings(bus);
  } catch (error) {
    const [says = ""] = (error as Error).message.split(/(?<=\.) Run `/, 1);
    const next = "Run `trunkline serve` or `trunkline orchestrator` to have it.";
    return [{ state: "warn", what: BUS, says, next }];
  }
}

async function pluginFindings(bus: BusControl): Promise<Finding[]> {
  const plugins = await bus.list();
  if (plugins.length === 0) return [{ state: "ok", what: BUS, says: "runs, without plugins" }];
  return plugins.map(({ id, state, tools, lastError }): Finding => {
    if (state === "up")
      return { state: "ok", what: BUS, says: `'${id}' is up, with ${tools} tools` };
    const next = `See \`trunkline plugin logs ${id}\`.`;
    return {
      state: "fail",
      what: BUS,
      says: `'${id}' is ${state}. ${lastError ?? ""}`.trim(),
      next,
    };
  });
}
