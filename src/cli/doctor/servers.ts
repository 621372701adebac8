import { setTimeout as sleep } from "node:timers/promises";

import { hasBus } from "../../gateway/bus/bus.ts";
import type { BusControl } from "../../gateway/bus/bus-control.ts";
import type { LoadedConfig } from "../../gateway/config/config.ts";
import type { UpstreamStatus } from "../../upstream/upstream.ts";
import { openTools } from "../../gateway/tool/open-tools.ts";
import type { Invocation } from "../shell/command.ts";
import { visibleLine } from "../../base/text/visible.ts";
import { quietHouse } from "../shell/open-house.ts";
import type { Finding } from "./doctor.ts";

/** Milliseconds to wait for servers; the first start of one may download it. */
const PATIENCE = 20_000;

/** The state of the configured MCP servers, and whether tools wait for approval. */
export async function checkServers(invocation: Invocation): Promise<Finding[]> {
  const house = await quietHouse({ ...invocation, err: () => {} });
  const names = Object.keys(house.config.mcpServers);
  if (names.length === 0) {
    return [{ state: "ok", what: "MCP servers", says: "none configured" }];
  }
  await using opened = await openTools(house);
  const patience = new AbortController();
  const late = sleep(PATIENCE, undefined, { signal: patience.signal }).catch(() => {});
  await Promise.race([opened.started(), late]);
  patience.abort();
  const findings = opened.status().map(findingOf);
  const held = opened.offer.tools.held().length;
  if (held === 0) return findings;
  const next = "Check them with `trunkline tools diff`.";
  return [
    ...findings,
    { state: "warn", what: "Tools", says: `${held} held until you approve them`, next },
  ];
}

function findingOf({ name, state, lastError, said }: UpstreamStatus): Finding {
  const what = `MCP server '${visibleLine(name)}'`;
  if (state === "up") return { state: "ok", what, says: state };
  if (state === "starting") {
    const last = said.at(-1);
    const words = last === undefined ? "" : `; its last output: ${visibleLine(last)}`;
    const next = "The first start may download the server: try again in a minute.";
    return { state: "warn", what, says: `still starting after ${PATIENCE / 1000} s${words}`, next };
  }
  const next = "Run its command by hand to see why, or remove it from `mcpServers`.";
  const why = lastError === undefined ? "" : `: ${visibleLine(lastError)}`;
  return { state: "fail", what, says: `${state}${why}`, next };
}

const BUS = "Plugin bus";

/** The state of the plugins, if some are configured and a bus is running. */
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
    const next = "Start it with `trunkline serve` or `trunkline orchestrator`.";
    return [{ state: "warn", what: BUS, says, next }];
  }
}

async function pluginFindings(bus: BusControl): Promise<Finding[]> {
  const plugins = await bus.list();
  if (plugins.length === 0) return [{ state: "ok", what: BUS, says: "is running without plugins" }];
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
