import { statSync } from "node:fs";
import { dirname, resolve } from "node:path";

import { TrunklineError } from "../../base/errors.ts";
import { Log } from "../../base/log.ts";
import { visibleLine } from "../../base/text/visible.ts";
import { devPlugin } from "../../plugin/open/dev-plugin.ts";
import { untilSignal } from "../../base/process/long-running.ts";
import { pluginSandboxStatus } from "../../sandbox/open/local-sandbox-status.ts";
import type { PluginSettings } from "../../plugin/plugin/settings.ts";
import { type PluginFlags, readFlags, splitFlags } from "../../plugin/sdk/flags.ts";
import type { Invocation, OptionValues } from "../shell/command.ts";
import { openQuietApp } from "../shell/open-app.ts";
import { type ConsentValues, nameOf, triedPlugin, type TrialPlugin } from "./approve.ts";

/** `trunkline plugin dev PLUGIN` */
export async function run(
  invocation: Invocation<ConsentValues & OptionValues<"id">>,
): Promise<number> {
  const { positionals, values, cwd, out } = invocation;
  const [where = ""] = positionals;
  const path = resolve(cwd, where);
  const stats = statSync(path, { throwIfNoEntry: false });
  if (stats === undefined) {
    const why = "there is no such file or folder. Of an installed package, name the folder";
    throw new TrunklineError("not-found", `Cannot watch '${where}': ${why}.`);
  }
  const { config } = await openQuietApp(invocation);
  const limits = await pluginSandboxStatus(config);
  const tried = (): Promise<TrialPlugin> =>
    triedPlugin(positionals, { cwd, config, limits, consent: values });
  const first = await tried();
  let { id } = first.settings;
  const folder = stats.isDirectory() ? path : dirname(path);
  const tell = (line: string): void => out(`${visibleLine(id)} | ${visibleLine(line)}\n`);
  const stopped = untilSignal();
  tell(first.note);
  tell(`watching ${folder}; \`trunkline plugin call TOOL\` calls a tool, Ctrl-C ends it`);
  const again = async (): Promise<PluginSettings> => {
    const { settings, note } = await tried();
    ({ id } = settings);
    tell(note);
    return settings;
  };
  await using _running = await devPlugin({ config, plugin: first.settings, again, folder, tell });
  // Without a timer, nothing of our own keeps the process alive while the plugin is down.
  const alive = setInterval(() => {}, 60_000);
  await stopped;
  clearInterval(alive);
  return 0;
}

/** `trunkline plugin wrap -- COMMAND…`: a plugin, as orchestrators start it. */
export async function wrap(invocation: Invocation<OptionValues<"id" | "cwd">>): Promise<number> {
  const { positionals, values, env, out } = invocation;
  const { own, flags } = splitFlags(positionals);
  const [command, ...args] = own;
  if (command === undefined) {
    const what = "Cannot wrap an MCP server: name its command after `--`";
    throw new TrunklineError("usage", `${what}, such as \`trunkline plugin wrap -- npx SERVER\`.`);
  }
  const id = values.id ?? nameOf(own);
  const given = readGiven(flags);
  const { mcpPlugin } = await import("../../plugin/open/mcp-plugin.ts");
  const log = new Log("warn");
  const parts = await mcpPlugin({ id, command, args, cwd: values.cwd, env, log });
  if (given.isManifest) {
    out(`${JSON.stringify(parts.manifest)}\n`);
    await parts.shutdown?.();
    return 0;
  }
  const { serveProgram } = await import("../../plugin/sdk/serve/serve-program.ts");
  await serveProgram(parts, given);
  return 0;
}

function readGiven(flags: readonly string[]): PluginFlags {
  if (flags.length > 0) return readFlags(flags);
  const how = "an orchestrator does it, with --orchestrator-addr=HOST:PORT after the command";
  const next = "To have its tools in every assistant, use `trunkline plugin add --mcp`";
  throw new TrunklineError("usage", `Cannot start a plugin by hand: ${how}. ${next}.`);
}
