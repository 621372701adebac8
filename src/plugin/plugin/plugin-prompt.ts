import { answerOf } from "../../protocol/bus/answer.ts";
import type { PromptDefinition as BusPrompt } from "../../protocol/bus/plugin.gen.ts";
import {
  fromBusPrompt,
  fromPromptGetResponse,
  toPromptGetRequest,
} from "../../protocol/bus/shape/prompt-shape.ts";
import type { Prompt } from "../../tool/prompt.ts";
import { isNested } from "../nested-call.ts";
import type { Plugin } from "./plugin.ts";

/** A prompt of a plugin, under the name that it has here. */
export function pluginPrompt(plugin: Plugin, prompt: BusPrompt, name: string): Prompt {
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
