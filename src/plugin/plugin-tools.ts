import type { PluginManifest } from "../protocol/bus/plugin.gen.ts";
import { Names } from "../tool/names.ts";
import type { Offer } from "../tool/offer.ts";
import type { Prompt } from "../tool/prompt.ts";
import { type Publication, Published } from "../tool/published.ts";
import type { Tool } from "../tool/tool.ts";
import { type AiTool, aiTool } from "./ai-tools.ts";
import type { Plugin } from "./plugin.ts";
import { pluginPrompt } from "./plugin-prompt.ts";
import { pluginTool } from "./plugin-tool.ts";

/** What all plugins offer, as part of the house's offer, under names that do not clash. */
export class PluginTools {
  readonly #offer: Offer;
  readonly #manifestOf: (id: string) => PluginManifest | undefined;
  readonly #tools: Published<Tool>;
  readonly #prompts: Published<Prompt>;

  constructor(offer: Offer, manifestOf: (id: string) => PluginManifest | undefined) {
    this.#offer = offer;
    this.#manifestOf = manifestOf;
    this.#tools = new Published((_, tool) => offer.tools.add(tool));
    this.#prompts = new Published((name, prompt) => offer.prompts.add(name, prompt));
  }

  /** Whether a plugin brought the tool. */
  has(name: string): boolean {
    return this.#tools.has(name);
  }

  /** The kinds of storage that a plugin provides. */
  storageOf({ id, settings }: Plugin): readonly string[] {
    return [...settings.providesStorage, ...(this.#manifestOf(id)?.providesStorage ?? [])];
  }

  publish(plugins: readonly Plugin[]): void {
    this.#tools.replace([...this.#plain(plugins), ...this.#ofProviders(plugins)]);
    const names = new Names(
      (name) => this.#offer.prompts.get(name) !== undefined && !this.#prompts.has(name),
    );
    this.#prompts.replace(
      plugins.flatMap((plugin) =>
        plugin.offer.prompts.map((prompt) => {
          const name = names.give(plugin.id, prompt.name);
          const key = `${plugin.id}\n${JSON.stringify(prompt)}`;
          return { name, key, make: () => pluginPrompt(plugin, prompt, name) };
        }),
      ),
    );
  }

  #aiOf({ id, settings }: Plugin): readonly string[] {
    return [...settings.providesAi, ...(this.#manifestOf(id)?.providesAi ?? [])];
  }

  #plain(plugins: readonly Plugin[]): Publication<Tool>[] {
    const names = this.#names();
    return plugins
      .filter((plugin) => this.#aiOf(plugin).length === 0)
      .flatMap((plugin) =>
        plugin.offer.tools.map((tool) => {
          const name = names.give(plugin.id, tool.name);
          const key = `${plugin.id}\n${JSON.stringify(tool)}`;
          return { name, key, make: () => pluginTool(plugin, tool, name) };
        }),
      );
  }

  /** Providers of AI offer the same tools; each name is there once. */
  #ofProviders(plugins: readonly Plugin[]): Publication<Tool>[] {
    const byName = new Map<string, { readonly keys: string[]; readonly tools: AiTool[] }>();
    for (const plugin of plugins) {
      const providers = this.#aiOf(plugin);
      if (providers.length === 0) continue;
      for (const tool of plugin.offer.tools) {
        const same = byName.get(tool.name) ?? { keys: [], tools: [] };
        byName.set(tool.name, same);
        same.keys.push(`${plugin.id}\n${providers.join()}\n${JSON.stringify(tool)}`);
        same.tools.push({ providers, tool: pluginTool(plugin, tool, tool.name) });
      }
    }
    const names = this.#names();
    return Array.from(byName, ([name, { keys, tools }]) => {
      const given = names.give("ai", name);
      return { name: given, key: keys.join("\n\n"), make: () => aiTool(given, tools, undefined) };
    });
  }

  #names(): Names {
    return new Names((name) => this.#offer.tools.get(name) !== undefined && !this.#tools.has(name));
  }
}
