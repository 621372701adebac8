import { hasBus } from "../../gateway/bus/bus.ts";
import type { BusControl } from "../../gateway/bus/bus-control.ts";
import type { LoadedConfig } from "../../gateway/config/config.ts";
import type { Invocation } from "../shell/command.ts";
import { quietHouse } from "../shell/open-house.ts";
import type { Finding } from "./doctor.ts";

const what = "Plugin bus";

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
    return [{ state: "warn", what, says, next }];
  }
}

async function pluginFindings(bus: BusControl): Promise<Finding[]> {
  const plugins = await bus.list();
  if (plugins.length === 0) return [{ state: "ok", what, says: "runs, without plugins" }];
  return plugins.map(({ id, state, tools, lastError }): Finding => {
    if (state === "up") return { state: "ok", what, says: `'${id}' is up, with ${tools} tools` };
    const next = `See \`trunkline plugin logs ${id}\`.`;
    return { state: "fail", what, says: `'${id}' is ${state}. ${lastError ?? ""}`.trim(), next };
  });
}
