import { answerOf } from "../protocol/bus/answer.ts";
import type { PromptDefinition as BusPrompt } from "../protocol/bus/plugin.gen.ts";
import {
  fromBusPrompt,
  fromPromptGetResponse,
  toPromptGetRequest,
} from "../protocol/bus/prompt-shape.ts";
import type { Prompt } from "../tool/prompt.ts";
import type { Plugin } from "./plugin.ts";

/** A prompt of a plugin, under the name that it has here. */
export function pluginPrompt(plugin: Plugin, prompt: BusPrompt, name: string): Prompt {
  return {
    definition: { ...fromBusPrompt(prompt), name },
    async get(args, { stop }) {
      const value = toPromptGetRequest(prompt.name, args);
      // A prompt only reads, so it may be asked for once more.
      const answer = await plugin.client.ask({ case: "promptGet", value }, { stop, again: true });
      return fromPromptGetResponse(answerOf(`Plugin '${plugin.id}'`, answer, "promptGet"));
    },
  };
}
