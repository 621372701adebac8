import { join } from "node:path";

import type { BackoffLimits } from "../../base/limit/backoff.ts";
import { Lazy } from "../../base/lazy.ts";
import type { Log } from "../../base/log.ts";
import type { BusTransport, Orchestrator } from "../orchestrator.ts";
import type { ConfinePlugin } from "../plugin/plugin-process.ts";
import { approving } from "../plugin/permissions.ts";
import type { PluginSettings } from "../plugin/settings.ts";
import type { Offer } from "../../tool/offer/offer.ts";
import { selfCommand } from "../../base/process/self-command.ts";
import type { Config } from "../../config/config.ts";
import { codeFile } from "../plugin/pin.ts";
import type { BusSettings, PluginProgram } from "../../config/schema/schema.gen.ts";
import type { ConfinePluginsOptions } from "./confine-plugins.ts";

export const BUS_ADDRESS = "localhost:50100";

/** The settings of a bus, from the configuration or from Orchestra's `plugins.yaml`. */
export interface BusPlan extends Required<Omit<BusSettings, "plugins">> {
  readonly plugins: readonly PluginSettings[];
}

/** The bus of a configuration. */
export function busPlan({ bus, data }: Pick<Config, "bus" | "data">): BusPlan {
  return {
    ...bus,
    listen: bus.listen ?? BUS_ADDRESS,
    certsDir: bus.certsDir ?? join(data, "certs"),
    workspace: bus.workspace ?? join(data, "workspace"),
    plugins: pluginsOf(bus),
  };
}

/** Whether a configuration names plugins to start. */
export function hasPlugins({ bus }: Pick<Config, "bus">): boolean {
  return pluginsOf(bus).length > 0;
}

/** Whether a configuration names an address for a bus, or plugins. */
export function hasBus(config: Pick<Config, "bus">): boolean {
  return config.bus.listen !== undefined || hasPlugins(config);
}

/** Where a bus on this data folder keeps what lasts as long as it runs. */
export function busFolder(data: string): string {
  return join(data, "bus");
}

export interface OpenBusOptions {
  readonly offer: Offer;
  readonly log: Log;
  readonly data: string;
  /** When to start plugins again that failed; soon by default. */
  readonly retries?: BackoffLimits;
}

/** Runs a bus. Plugins are being started when it resolves. */
export async function openBus(plan: BusPlan, options: OpenBusOptions): Promise<Orchestrator> {
  const { offer, log, data, retries } = options;
  const [{ openOrchestrator }, { busStorage }, transport] = await Promise.all([
    import("../orchestrator.ts"),
    import("./bus-storage.ts"),
    busTransport(),
  ]);
  const { workspace, callTimeout, sandbox } = plan;
  await using opening = new AsyncDisposableStack();
  const bus = opening.use(
    await openOrchestrator({
      ...plan,
      ...{ offer, log, transport },
      storage: busStorage(workspace, (event, fields) => log.warn(event, fields)),
      limits: { call: callTimeout, ...retries },
      folder: busFolder(data),
      confine: lazyConfine({ sandbox, data, log }),
    }),
  );
  await bus.configure(plan.plugins);
  opening.move();
  const known = (): Promise<void> | undefined => bus.known();
  offer.waitFor({ known, arrival: known });
  return bus;
}

/** The configured plugins without an approval: those that earlier versions have added. */
export function unaskedPlugins({ plugins }: BusPlan): string[] {
  return plugins.flatMap(({ id, permissions }) =>
    permissions?.namespace === undefined ? [id] : [],
  );
}

/** Logs which configured plugins run without an approval, and how to approve them. */
export function noteUnasked(plan: BusPlan, log: Log): void {
  for (const plugin of unaskedPlugins(plan)) {
    log.warn("plugin.not-asked", { plugin, next: approving(plugin) });
  }
}

/** Loads the code of the sandbox with the first plugin that has permissions. */
function lazyConfine(options: ConfinePluginsOptions): ConfinePlugin {
  const confine = new Lazy(async () => {
    const { confinePlugins } = await import("./confine-plugins.ts");
    return confinePlugins(options);
  });
  return async (plugin) => (await confine.get())(plugin);
}

/** The settings that cannot change while a bus runs. */
const LASTING = [
  ...(["listen", "certsDir", "clientCertificate", "callTimeout", "sandbox"] as const),
  "workspace",
] as const;

/** Applies a changed plan to a running bus, and logs the settings that need a restart. */
export async function reconfigure(
  orchestrator: Orchestrator,
  plan: BusPlan,
  opened: BusPlan | undefined,
  log: Log,
): Promise<void> {
  const changed = LASTING.filter((key) => plan[key] !== opened?.[key]);
  if (changed.length > 0) {
    log.warn("config.needs-restart", { settings: changed.map((key) => `bus.${key}`) });
  }
  // The next change of the plugins waits for the end of what this one removes: many in a row would
  // start plugins faster than they can come up.
  await orchestrator.configure(plan.plugins);
}

/** QUIC, or TLS for addresses with `tls://`. */
export async function busTransport(): Promise<BusTransport> {
  return await import("../../wire/quic/transport.ts");
}

function pluginsOf({ plugins }: Config["bus"]): PluginSettings[] {
  return Object.entries(plugins)
    .filter(([, { enabled }]) => enabled !== false)
    .map(([id, program]) => settingsOf(id, program));
}

/** The settings of a configured plugin. */
export function settingsOf(id: string, program: PluginProgram): PluginSettings {
  const { env = {}, config = {}, providesStorage = [], providesAi = [], dependsOn = [] } = program;
  const { needsTools, permissions, pin } = program;
  return {
    ...{ id, ...programOf(id, program), env, config, providesStorage, providesAi, dependsOn },
    ...(needsTools && { needsTools }),
    ...(permissions && { permissions }),
    ...(pin && { pin }),
    ...limitsOf(program),
  };
}

/** An MCP server is wrapped by this program, which is a plugin then. */
function programOf(
  id: string,
  program: PluginProgram,
): Pick<PluginSettings, "binary" | "args" | "code" | "wrapper"> {
  const codeIn = (words: readonly string[], cwd?: string) => {
    const code = codeFile(words, cwd);
    return code === undefined ? {} : { code };
  };
  if ("command" in program) {
    const { command: binary, args = [] } = program;
    return { binary, args, ...codeIn([binary, ...args]) };
  }
  if ("module" in program) {
    const { module, args = [] } = program;
    return { binary: process.execPath, args: [module, ...args], code: module };
  }
  const [binary, ...own] = selfCommand();
  const { mcp, cwd } = program;
  const place = cwd === undefined ? [] : ["--cwd", cwd];
  return {
    binary,
    args: [...own, "plugin", "wrap", "--id", id, ...place, "--", ...mcp],
    ...(own[0] === undefined ? {} : { wrapper: own[0] }),
    ...codeIn(mcp, cwd),
  };
}

/** Only what is configured: settings are compared to tell which plugins have changed. */
function limitsOf(program: PluginProgram): Pick<PluginSettings, "limits"> {
  const { callTimeout: call, calls, queue } = program;
  const given = Object.entries({ call, calls, queue }).filter(([, value]) => value !== undefined);
  return given.length === 0 ? {} : { limits: Object.fromEntries(given) };
}
