import type { PluginManifest } from "../../protocol/bus/plugin.gen.ts";
import { Names } from "../../tool/offer/names.ts";
import type { Offer } from "../../tool/offer/offer.ts";
import type { Prompt } from "../../tool/prompt.ts";
import { type Publication, Published } from "../../tool/offer/published.ts";
import type { Tool } from "../../tool/tool.ts";
import { type AiTool, aiTool } from "../ai-tools.ts";
import type { Plugin } from "./plugin.ts";
import { pluginPrompt, pluginTool } from "./plugin-tool.ts";

/** Something that a plugin brings. */
interface Owned<T> extends Publication<T> {
  readonly owner: string;
}

/** What all plugins offer, as part of the program's offer, under names that do not clash. */
export class PluginTools {
  readonly #offer: Offer;
  readonly #manifestOf: (id: string) => PluginManifest | undefined;
  readonly #tools: Published<Tool>;
  readonly #prompts: Published<Prompt>;
  #toolOwners: ReadonlyMap<string, string> = new Map();
  #promptOwners: ReadonlyMap<string, string> = new Map();

  constructor(offer: Offer, manifestOf: (id: string) => PluginManifest | undefined) {
    this.#offer = offer;
    this.#manifestOf = manifestOf;
    this.#tools = new Published((_, tool) => offer.tools.add(tool));
    this.#prompts = new Published((name, prompt) => offer.prompts.add(name, prompt));
  }

  /** The plugin that brings a tool. Where several do, it is none of them alone: an empty text. */
  ownerOf(name: string): string | undefined {
    return this.#toolOwners.get(name);
  }

  ownerOfPrompt(name: string): string | undefined {
    return this.#promptOwners.get(name);
  }

  /** The kinds of storage that a plugin provides. */
  storageOf({ id, settings }: Plugin): readonly string[] {
    return [...settings.providesStorage, ...(this.#manifestOf(id)?.providesStorage ?? [])];
  }

  publish(plugins: readonly Plugin[]): void {
    const tools = [...this.#plain(plugins), ...this.#ofProviders(plugins)];
    this.#toolOwners = ownersOf(tools);
    this.#tools.replace(tools);
    const names = new Names(
      (name) => this.#offer.prompts.get(name) !== undefined && !this.#prompts.has(name),
    );
    const prompts = plugins.flatMap((plugin) =>
      (plugin.offer?.prompts ?? []).map((prompt) => {
        const name = names.give(plugin.id, prompt.name);
        const key = `${plugin.key}\n${JSON.stringify(prompt)}`;
        return { name, key, owner: plugin.id, make: () => pluginPrompt(plugin, prompt, name) };
      }),
    );
    this.#promptOwners = ownersOf(prompts);
    this.#prompts.replace(prompts);
  }

  #aiOf({ id, settings }: Plugin): readonly string[] {
    return [...settings.providesAi, ...(this.#manifestOf(id)?.providesAi ?? [])];
  }

  #plain(plugins: readonly Plugin[]): Owned<Tool>[] {
    const names = this.#names();
    return plugins
      .filter((plugin) => this.#aiOf(plugin).length === 0)
      .flatMap((plugin) =>
        (plugin.offer?.tools ?? []).map((tool) => {
          const name = names.give(plugin.id, tool.name);
          const key = `${plugin.key}\n${JSON.stringify(tool)}`;
          return { name, key, owner: plugin.id, make: () => pluginTool(plugin, tool, name) };
        }),
      );
  }

  /** Providers of AI offer the same tools; each name is there once. */
  #ofProviders(plugins: readonly Plugin[]): Owned<Tool>[] {
    const byName = new Map<string, { keys: string[]; owners: string[]; tools: AiTool[] }>();
    for (const plugin of plugins) {
      const providers = this.#aiOf(plugin);
      if (providers.length === 0) continue;
      for (const tool of plugin.offer?.tools ?? []) {
        const same = byName.get(tool.name) ?? { keys: [], owners: [], tools: [] };
        byName.set(tool.name, same);
        same.keys.push(`${plugin.key}\n${providers.join()}\n${JSON.stringify(tool)}`);
        same.owners.push(plugin.id);
        same.tools.push({ providers, tool: pluginTool(plugin, tool, tool.name) });
      }
    }
    const names = this.#names();
    return Array.from(byName, ([name, { keys, owners, tools }]) => {
      const given = names.give("ai", name);
      const [owner = "", another] = owners;
      const make = (): Tool => aiTool(given, tools, undefined);
      const key = keys.join("\n\n");
      return { name: given, key, owner: another === undefined ? owner : "", make };
    });
  }

  #names(): Names {
    return new Names((name) => this.#offer.tools.get(name) !== undefined && !this.#tools.has(name));
  }
}

function ownersOf(all: readonly Owned<unknown>[]): ReadonlyMap<string, string> {
  return new Map(all.map(({ name, owner }) => [name, owner]));
}
