import { TrunklineError } from "../../base/errors.ts";
import { answerOf } from "../../protocol/bus/answer.ts";
import type { Asked, PassOptions } from "../../protocol/bus/connect.ts";
import { FAILURE } from "../../protocol/bus/failure.ts";
import type {
  PluginResponse,
  PromptDefinition as BusPrompt,
  ToolDefinition as BusTool,
} from "../../protocol/bus/plugin.gen.ts";
import { fromToolResponse } from "../../protocol/bus/shape/tool-result.ts";
import { fromBusTool, isIdempotent, toToolRequest } from "../../protocol/bus/shape/tool-shape.ts";
import { TOLD } from "../../tool/project.ts";
import type { Arguments, Tool, ToolContext, ToolResult } from "../../tool/tool.ts";
import { type CallContext, isNested, toolCallOf } from "../bus-context.ts";
import type { AskedPlugin } from "./plugin.ts";
import type { PluginLink } from "./plugin-link.ts";
import { callInPieces } from "../serve/stream-call.ts";
import {
  fromBusPrompt,
  fromPromptGetResponse,
  toPromptGetRequest,
} from "../../protocol/bus/shape/prompt-shape.ts";
import type { Prompt } from "../../tool/prompt.ts";
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
  const pass: NonNullable<Tool["pass"]> = (passed, args) => {
    const link = isStream || passed.meta !== undefined ? undefined : linkNow(plugin);
    const request = (): Asked =>
      callOf(tool.name, args, { ...passed.callerContext, meta: NO_META });
    return link?.pass(request, passed, passing) ?? false;
  };
  const passing: PassOptions = {
    again,
    goOn: (passed, answer) => {
      const result = answer.then((response) => {
        const found = resultOf(plugin, response);
        if (found !== undefined) return found;
        // One that answers only in pieces says that it is not there.
        isStream = true;
        return call(passed.args, passed.context);
      });
      passed.fallBackTo(result);
    },
  };
  const attributes = { "gen_ai.tool.name": tool.name, "trunkline.plugin": plugin.id };
  return {
    definition,
    bringer: plugin.id,
    // A plugin is told where its caller works, and says so when it calls tools of the program.
    project: TOLD,
    pass,
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

/** How to ask a plugin that is up; undefined where it is not. */
function linkNow(plugin: AskedPlugin): PluginLink | undefined {
  try {
    const link = plugin.link();
    if (!(link instanceof Promise)) return link;
    // Whoever calls it in full waits for it, and is told why it does not come.
    link.catch(() => {});
  } catch {
    // The same.
  }
  return undefined;
}

const NO_META = {};

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
