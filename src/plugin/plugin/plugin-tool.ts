import { abortSignalOf } from "../../base/abort.ts";
import { TrunklineError } from "../../base/errors.ts";
import { answerOf } from "../../protocol/bus/answer.ts";
import { FAILURE } from "../../protocol/bus/failure.ts";
import type {
  PluginManifest,
  PluginResponse,
  PromptDefinition as BusPrompt,
  ToolDefinition as BusTool,
} from "../../protocol/bus/plugin.gen.ts";
import {
  fromBusPrompt,
  fromPromptGetResponse,
  toPromptGetRequest,
} from "../../protocol/bus/shape/prompt-shape.ts";
import { fromToolResponse } from "../../protocol/bus/shape/tool-result.ts";
import { fromBusTool, isIdempotent, toToolRequest } from "../../protocol/bus/shape/tool-shape.ts";
import { Names } from "../../tool/offer/names.ts";
import type { Offer } from "../../tool/offer/offer.ts";
import { type Publication, PublishedEntries } from "../../tool/offer/published-entries.ts";
import {
  type Arguments,
  type Prompt,
  TOLD,
  type Tool,
  type ToolContext,
  type ToolResult,
} from "../../tool/tool.ts";
import { CALL, tracedHop } from "../../tool/traced-hop.ts";
import { PROVIDER, isNested, toolCallOf } from "../bus-context.ts";
import { callInPieces } from "../serve/stream-handlers.ts";
import type { AskedPlugin, Plugin } from "./plugin.ts";

/** A tool of a plugin, under the name that it has here. */
export function pluginTool(plugin: AskedPlugin, tool: BusTool, name: string): Tool {
  // Plugins do not declare which tools answer only in pieces: the first call shows it.
  let isStream = false;
  const definition = { ...fromBusTool(tool), name };
  const again = isIdempotent(definition);
  const call = async (args: Arguments, context: ToolContext): Promise<ToolResult> => {
    const inPieces = () => callInPieces(plugin, tool.name, args, context);
    const atOnce = () => callAtOnce(plugin, tool.name, args, context, again);
    const ways = context.piece === undefined && !isStream ? [atOnce, inPieces] : [inPieces, atOnce];
    for (const way of ways) {
      const result = await way();
      if (result === undefined) continue;
      isStream = way === inPieces;
      return result;
    }
    throw new TrunklineError("not-found", `Plugin '${plugin.id}' no longer has '${tool.name}'`);
  };
  const attributes = { ...CALL, "gen_ai.tool.name": tool.name, "trunkline.plugin": plugin.id };
  return {
    definition,
    bringer: plugin.id,
    // A plugin is told where its caller works, and says so when it calls tools of the program.
    project: TOLD,
    call: (args, context) => {
      if (context.span === undefined) return call(args, context);
      return tracedHop(context, attributes, () => call(args, context));
    },
  };
}

/** The tool's answer; undefined where the plugin has no such tool that answers at once. */
async function callAtOnce(
  plugin: AskedPlugin,
  name: string,
  args: Arguments,
  context: ToolContext,
  again: boolean,
): Promise<ToolResult | undefined> {
  const value = toToolRequest(toolCallOf(name, args, context));
  const link = await plugin.link();
  const signal = abortSignalOf(context.signal);
  const asking = { signal, again, isNested: isNested(context) };
  return resultOf(plugin, await link.ask({ case: "toolCall", value }, asking));
}

/** Undefined where the plugin says that it has no such tool. */
function resultOf(plugin: AskedPlugin, answer: PluginResponse): ToolResult | undefined {
  const response = answerOf(`Plugin '${plugin.id}'`, answer, "toolCall");
  if (!response.success && response.errorCode === FAILURE.toolNotFound) return undefined;
  return fromToolResponse(response);
}

/** A prompt of a plugin, under the name that it has here. */
export function pluginPrompt(plugin: AskedPlugin, prompt: BusPrompt, name: string): Prompt {
  return {
    definition: { ...fromBusPrompt(prompt), name },
    async get(args, context) {
      const value = toPromptGetRequest(prompt.name, args);
      // A prompt only reads, so it may be asked for once more.
      const signal = abortSignalOf(context.signal);
      const asking = { signal, again: true, isNested: isNested(context) };
      const answer = await (await plugin.link()).ask({ case: "promptGet", value }, asking);
      return fromPromptGetResponse(answerOf(`Plugin '${plugin.id}'`, answer, "promptGet"));
    },
  };
}

/** A tool or prompt of a plugin. */
interface OwnedPublication<T> extends Publication<T> {
  readonly owner: string;
}

/** The tools and prompts of all plugins, added to the program's offer under names that do not clash. */
export type PluginTools = ReturnType<typeof pluginTools>;

export function pluginTools(offer: Offer, manifestOf: (id: string) => PluginManifest | undefined) {
  const toolEntries = new PublishedEntries<Tool>((_, tool) => offer.tools.add(tool));
  const promptEntries = new PublishedEntries<Prompt>((name, prompt) =>
    offer.prompts.add(name, prompt),
  );
  let toolOwners: ReadonlyMap<string, string> = new Map();
  let promptOwners: ReadonlyMap<string, string> = new Map();
  const aiOf = ({ id, settings }: Plugin): readonly string[] => [
    ...settings.providesAi,
    ...(manifestOf(id)?.providesAi ?? []),
  ];
  const plain = (plugins: readonly Plugin[]): OwnedPublication<Tool>[] => {
    const names = freeNames();
    return plugins
      .filter((plugin) => aiOf(plugin).length === 0)
      .flatMap((plugin) => ownedBy(plugin, plugin.offer?.tools, names, pluginTool));
  };
  /** Providers of AI offer the same tools; each name is there once. */
  const ofProviders = (plugins: readonly Plugin[]): OwnedPublication<Tool>[] => {
    const byName = new Map<string, { keys: string[]; owners: string[]; tools: AiTool[] }>();
    for (const plugin of plugins) {
      const providers = aiOf(plugin);
      if (providers.length === 0) continue;
      for (const tool of plugin.offer?.tools ?? []) {
        const same = byName.get(tool.name) ?? { keys: [], owners: [], tools: [] };
        byName.set(tool.name, same);
        same.keys.push(`${plugin.key}\n${providers.join()}\n${JSON.stringify(tool)}`);
        same.owners.push(plugin.id);
        same.tools.push({ providers, tool: pluginTool(plugin, tool, tool.name) });
      }
    }
    const names = freeNames();
    return Array.from(byName, ([name, { keys, owners, tools }]) => {
      const given = names.give("ai", name);
      const [owner = "", another] = owners;
      const make = (): Tool => aiTool(given, tools);
      const key = keys.join("\n\n");
      return { name: given, key, owner: another === undefined ? owner : "", make };
    });
  };
  const freeNames = (): Names =>
    new Names((name) => offer.tools.get(name) !== undefined && !toolEntries.has(name));
  return {
    /** The plugin that brings a tool. Where several do, it is none of them alone: an empty text. */
    ownerOf: (name: string): string | undefined => toolOwners.get(name),
    ownerOfPrompt: (name: string): string | undefined => promptOwners.get(name),
    /** The kinds of storage that a plugin provides. */
    storageOf: ({ id, settings }: Plugin): readonly string[] => [
      ...settings.providesStorage,
      ...(manifestOf(id)?.providesStorage ?? []),
    ],
    publish(plugins: readonly Plugin[]): void {
      const tools = [...plain(plugins), ...ofProviders(plugins)];
      toolOwners = ownersOf(tools);
      toolEntries.replace(tools);
      const names = new Names(
        (name) => offer.prompts.get(name) !== undefined && !promptEntries.has(name),
      );
      const prompts = plugins.flatMap((plugin) =>
        ownedBy(plugin, plugin.offer?.prompts, names, pluginPrompt),
      );
      promptOwners = ownersOf(prompts);
      promptEntries.replace(prompts);
    },
  };
}

/** The entries of one plugin, under the names that they get here. */
function ownedBy<D extends { readonly name: string }, T>(
  plugin: Plugin,
  offered: readonly D[] = [],
  names: Names,
  make: (plugin: AskedPlugin, one: D, name: string) => T,
): OwnedPublication<T>[] {
  return offered.map((one) => {
    const name = names.give(plugin.id, one.name);
    const key = `${plugin.key}\n${JSON.stringify(one)}`;
    return { name, key, owner: plugin.id, make: () => make(plugin, one, name) };
  });
}

function ownersOf(all: readonly OwnedPublication<unknown>[]): ReadonlyMap<string, string> {
  return new Map(all.map(({ name, owner }) => [name, owner]));
}

/** Orchestra's routing: providers whose API is that of another provider. */
const ALIASES: Readonly<Record<string, string>> = {
  grok: "openai",
  perplexity: "openai",
  deepseek: "openai",
  qwen: "openai",
  kimi: "openai",
};
/** Orchestra's routing: the provider of a call that names none. */
const FALLBACK = "claude";

/** A tool of one provider of AI. */
interface AiTool {
  readonly providers: readonly string[];
  readonly tool: Tool;
}

/** One tool for all tools of that name of several AI providers: each call names the provider. */
export function aiTool(name: string, all: readonly AiTool[]): Tool {
  const byProvider = new Map<string, Tool>();
  for (const { providers, tool } of all) {
    for (const provider of providers) byProvider.set(provider, tool);
  }
  const first = all[0]?.tool;
  if (first === undefined) throw new Error(`Nobody offers '${name}'`);
  return {
    definition: { ...first.definition, name },
    ...(first.project === undefined ? {} : { project: first.project }),
    call(args: Arguments, context: ToolContext): ToolResult | Promise<ToolResult> {
      const wanted = context.meta[PROVIDER] ?? args.provider;
      const named = typeof wanted === "string" ? wanted : "";
      const tool =
        byProvider.get(named) ??
        byProvider.get(ALIASES[named] ?? "") ??
        byProvider.get(FALLBACK) ??
        first;
      return tool.call(args, context);
    },
  };
}
