import { statSync } from "node:fs";
import { dirname, resolve } from "node:path";

import { TrunklineError } from "../../base/errors.ts";
import { visibleLine } from "../../base/text/visible.ts";
import { devPlugin } from "../../plugin/open/dev-plugin.ts";
import { untilSignal } from "../../base/process/long-running.ts";
import type { PluginSettings } from "../../plugin/plugin/settings.ts";
import { pluginsInForce } from "../../sandbox/open/local-in-force.ts";
import type { Invocation } from "../shell/command.ts";
import { openQuietApp } from "../shell/open-app.ts";
import type { Consent } from "./approve.ts";
import { type TriedPlugin, triedPlugin } from "./tried-plugin.ts";

/** `trunkline plugin dev PLUGIN` */
export async function run(
  invocation: Invocation<Consent & { readonly id?: string }>,
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
  const limits = await pluginsInForce(config);
  const tried = (): Promise<TriedPlugin> =>
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
