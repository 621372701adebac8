import type { MessageInitShape } from "@bufbuild/protobuf";

import type { Content, PromptDefinition, PromptResult } from "../../../tool/tool.ts";
import { contentText } from "./content-text.ts";
import type * as wire from "../plugin.gen.ts";

/** A plugin's prompt as the doors describe it. */
export function fromBusPrompt(prompt: wire.PromptDefinition): PromptDefinition {
  const { name, description } = prompt;
  const args = prompt.arguments.map((argument) => ({
    name: argument.name,
    ...(argument.description === "" ? {} : { description: argument.description }),
    ...(argument.required ? { required: true } : {}),
  }));
  return { name, ...(description === "" ? {} : { description }), arguments: args };
}

/** A prompt of the program as plugins see it. */
export function toBusPrompt(
  prompt: PromptDefinition,
): MessageInitShape<typeof wire.PromptDefinitionSchema> {
  const { name, title, description } = prompt;
  return {
    name,
    description: description ?? title ?? "",
    arguments: (prompt.arguments ?? []).map((argument) => ({
      name: argument.name,
      description: argument.description ?? "",
      required: argument.required === true,
    })),
  };
}

export function toPromptGetRequest(
  name: string,
  args: Readonly<Record<string, string>>,
): MessageInitShape<typeof wire.PromptGetRequestSchema> {
  return { promptName: name, arguments: args };
}

/** A plugin's rendered prompt. The bus carries only text, whatever type the plugin declares. */
export function fromPromptGetResponse(response: wire.PromptGetResponse): PromptResult {
  const { description } = response;
  const messages = response.messages.map(({ role, content }) => ({
    role: role === "assistant" ? role : "user",
    content: { type: "text", text: content?.text ?? "" },
  }));
  return { ...(description === "" ? {} : { description }), messages };
}

export function toPromptGetResponse(
  result: PromptResult,
): MessageInitShape<typeof wire.PromptGetResponseSchema> {
  const messages = (result.messages as { role?: unknown; content?: Content }[]).map((message) => ({
    role: message.role === "assistant" ? "assistant" : "user",
    content: { type: "text", text: textOf(message.content) },
  }));
  return { description: result.description ?? "", messages };
}

function textOf(content: Content | undefined): string {
  return content === undefined ? "" : contentText([content]);
}
