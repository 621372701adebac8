import { maskWhole } from "../../base/text/mask.ts";
import type { UserContent, UserModelMessage } from "ai";

import type { ContentBlock } from "../../session/agent.ts";

type Part = Exclude<UserContent, string>[number];

/** A prompt as a message for the model. */
export function promptMessage(prompt: readonly ContentBlock[]): UserModelMessage {
  const content = prompt.map(partOf);
  return { role: "user", content: content.length === 0 ? "(Empty.)" : content };
}

/** The text of a prompt, without attachments. */
export function promptText(prompt: readonly ContentBlock[]): string {
  return prompt
    .flatMap((block) => (block.type === "text" ? [String(block.text)] : []))
    .join("\n")
    .trim();
}

/**
 * What the person typed. Editors split it at mentions; a text block directly after another was added by
 * the client, such as goose's notes on the time and its tasks.
 */
export function typedText(prompt: readonly ContentBlock[]): string {
  const added = prompt.findIndex(
    ({ type }, at) => type === "text" && prompt[at - 1]?.type === "text",
  );
  return promptText(added === -1 ? prompt : prompt.slice(0, added));
}

function partOf(block: ContentBlock): Part {
  const { type, text, data, mimeType, uri, name, resource } = block;
  // Some providers refuse empty text.
  if (type === "text")
    return { type: "text", text: String(text).trim() === "" ? "(Empty.)" : String(text) };
  if (type === "image" && typeof data === "string" && typeof mimeType === "string") {
    return { type: "file", data, mediaType: mimeType };
  }
  if (type === "resource") return { type: "text", text: embedded(resource) };
  if (type === "resource_link") {
    return { type: "text", text: `(The person points at ${String(name)}: ${pathOf(uri)})` };
  }
  return { type: "text", text: `(Something of the type '${type}', which cannot be passed on.)` };
}

function embedded(resource: unknown): string {
  const { uri, text } = (resource ?? {}) as Record<string, unknown>;
  const where = pathOf(uri);
  if (typeof text !== "string") return `(The person attached ${where}, which is not text.)`;
  return `The person attached ${where}:\n\n${maskWhole(text)}`;
}

function pathOf(uri: unknown): string {
  const url = URL.parse(String(uri));
  return url?.protocol === "file:" ? decodeURIComponent(url.pathname) : String(uri);
}
