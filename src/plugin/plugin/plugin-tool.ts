import { TrunklineError } from "../../base/errors.ts";
import { answerOf } from "../../protocol/bus/answer.ts";
import type { Asked } from "../../protocol/bus/connect.ts";
import { FAILURE } from "../../protocol/bus/failure.ts";
import type {
  PluginResponse,
  PromptDefinition as BusPrompt,
  ToolDefinition as BusTool,
} from "../../protocol/bus/plugin.gen.ts";
import { fromToolResponse } from "../../protocol/bus/shape/tool-result.ts";
import { fromBusTool, isIdempotent, toToolRequest } from "../../protocol/bus/shape/tool-shape.ts";
import {
  type Arguments,
  type Prompt,
  TOLD,
  type Tool,
  type ToolContext,
  type ToolResult,
} from "../../tool/tool.ts";
import { type CallContext, isNested, toolCallOf } from "../bus-context.ts";
import type { AskedPlugin } from "./plugin.ts";
import { callInPieces } from "../serve/stream-call.ts";
import {
  fromBusPrompt,
  fromPromptGetResponse,
  toPromptGetRequest,
} from "../../protocol/bus/shape/prompt-shape.ts";
import { tracedHop } from "../../tool/traced-hop.ts";

/** A tool of a plugin, under the name that it has here. */
export function pluginTool(plugin: AskedPlugin, tool: BusTool, name: string): Tool {
  // Plugins say nothing of which tools answer only in pieces: it shows when one is called.
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
  const attributes = { "gen_ai.tool.name": tool.name, "trunkline.plugin": plugin.id };
  return {
    definition,
    bringer: plugin.id,
    // A plugin is told where its caller works, and says so when it calls tools of the house.
    project: TOLD,
    call: (args, context) => {
      const { span } = context;
      if (span === undefined) return call(args, context);
      return tracedHop(context, span, attributes, () => call(args, context));
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
  const request = callOf(name, args, context);
  const link = await plugin.link();
  const asking = { stop: context.stop, again, isNested: isNested(context) };
  return resultOf(plugin, await link.ask(request, asking));
}

function callOf(name: string, args: Arguments, context: CallContext): Asked {
  return { case: "toolCall", value: toToolRequest(toolCallOf(name, args, context)) };
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
      const asking = { stop: context.stop, again: true, isNested: isNested(context) };
      const answer = await (await plugin.link()).ask({ case: "promptGet", value }, asking);
      return fromPromptGetResponse(answerOf(`Plugin '${plugin.id}'`, answer, "promptGet"));
    },
  };
}
