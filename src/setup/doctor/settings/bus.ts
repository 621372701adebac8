import { busPlan, hasBus, unaskedPlugins } from "../../../plugin/open/bus.ts";
import type { BusControl } from "../../../plugin/open/bus-control.ts";
import { examineCertificates } from "../../../plugin/open/examine-certificates.ts";
import type { Config } from "../../../config/config.ts";
import { approving } from "../../../plugin/plugin/permissions.ts";
import { byFix, FIX_COMMAND, type Finding } from "../finding.ts";
import { silentApp } from "../silent-app.ts";
import { setAside } from "../state/set-aside.ts";
import { counted } from "../../../cli/shell/layout.ts";

const BUS = "Plugin bus";

/** The state of the plugins, if some are configured and a bus is running. */
export async function checkBus(config: Config): Promise<Finding[]> {
  const unusable = await certificateFindings(config);
  if (unusable.length > 0 || !hasBus(config)) return unusable;
  return [...(await runningFindings(config)), ...unaskedFindings(config)];
}

/** Plugins that were added before anybody was asked what they may do. */
function unaskedFindings(config: Config): Finding[] {
  return unaskedPlugins(busPlan(config)).map((id) => ({
    ...({ state: "warn", what: BUS } as const),
    says: `nobody was asked what '${id}' may do: earlier versions have added it`,
    next: `${approving(id)}.`,
  }));
}

async function runningFindings(config: Config): Promise<Finding[]> {
  const { BusControl } = await import("../../../plugin/open/bus-control.ts");
  const asked = { address: undefined, certsDir: undefined };
  try {
    await using bus = await BusControl.connect(silentApp(config), asked);
    return await pluginFindings(bus);
  } catch (error) {
    const [says = ""] = (error as Error).message.split(/(?<=\.) Run `/, 1);
    const next = "Start it with `trunkline serve` or `trunkline orchestrator`.";
    return [{ state: "warn", what: BUS, says, next }];
  }
}

/** Certificates that the bus would refuse. It renews others by itself. */
async function certificateFindings(config: Config): Promise<Finding[]> {
  const found = await examineCertificates(busPlan(config).certsDir);
  return found.map(({ says, files }): Finding => {
    const finding = { state: "fail", what: BUS, says } as const;
    const [first, ...others] = files;
    // Certificates elsewhere may have been made by somebody else.
    if (config.bus.certsDir !== undefined || first === undefined) {
      return {
        ...finding,
        next: "Move its files away: the bus makes new ones where it has `ca.key`.",
      };
    }
    const next = `Run \`${FIX_COMMAND}\`, which renames its files after a question: the bus then makes new ones.`;
    return { ...finding, ...byFix(setAside(config.data, first, ...others)), next };
  });
}

async function pluginFindings(bus: BusControl): Promise<Finding[]> {
  const plugins = await bus.list();
  if (plugins.length === 0) return [{ state: "ok", what: BUS, says: "is running without plugins" }];
  return plugins.map(({ id, state, tools, lastError }): Finding => {
    if (state === "up")
      return { state: "ok", what: BUS, says: `'${id}' is up, with ${counted(tools, "tool")}` };
    const next = `See \`trunkline plugin logs ${id}\`.`;
    return {
      state: "fail",
      what: BUS,
      says: `'${id}' is ${state}. ${lastError ?? ""}`.trim(),
      next,
    };
  });
}
