import type { ModelMessage } from "ai";

/**
 * Replaces each image by a note, in the messages from `from` on. Undefined if there is no image.
 */
export function withoutImages(
  messages: readonly ModelMessage[],
  from: number,
  note: string,
): ModelMessage[] | undefined {
  let count = 0;
  const replace = <P extends object>(part: P): P | { type: "text"; text: string } => {
    if (!isImage(part)) return part;
    count++;
    return { type: "text", text: note };
  };
  const replaced = messages.map((message, index): ModelMessage => {
    if (index < from || typeof message.content === "string") return message;
    if (message.role === "user") return { ...message, content: message.content.map(replace) };
    if (message.role !== "tool") return message;
    const content = message.content.map((part) => {
      if (part.type !== "tool-result" || part.output.type !== "content") return part;
      return { ...part, output: { ...part.output, value: part.output.value.map(replace) } };
    });
    return { ...message, content };
  });
  return count === 0 ? undefined : replaced;
}

/** Images are the only files in conversations. */
export function isImage(part: unknown): boolean {
  return typeof part === "object" && part !== null && "type" in part && part.type === "file";
}
