import { DefinedPlugin } from "./defined-plugin.ts";
import type { Plugin, PluginDefinition } from "./definition.ts";
import { launch } from "./launch.ts";
import { partsOf } from "./parts.ts";

/**
 * Makes a plugin. A program that is started as an orchestrator starts plugins, with
 * `--orchestrator-addr`, `--listen-addr` or `--manifest`, then is that plugin.
 */
export function definePlugin<const Tools = unknown, const Prompts = unknown>(
  definition: PluginDefinition<Tools, Prompts>,
): Plugin {
  const plugin = new DefinedPlugin(partsOf(definition));
  launch(plugin);
  return plugin;
}
