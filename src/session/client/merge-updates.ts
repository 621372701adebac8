import type { SessionUpdate } from "../agent.ts";

const CHUNKS: ReadonlySet<string> = new Set([
  "agent_message_chunk",
  "agent_thought_chunk",
  "user_message_chunk",
  "compaction_summary_chunk",
]);

interface Text {
  readonly type: "text";
  readonly text: string;
}

/**
 * Merges two updates into one with the same effect; undefined where that is not possible. Text of one
 * message is joined; of two updates of a tool call, the later fields win (ACP tool-calls § Updating).
 */
export function mergeUpdates(
  first: SessionUpdate,
  second: SessionUpdate,
  maxCharacters: number,
): SessionUpdate | undefined {
  const kind = first.sessionUpdate;
  if (kind !== second.sessionUpdate) return undefined;
  if (kind === "tool_call_update" && first.toolCallId === second.toolCallId) {
    if (first._meta !== undefined || second._meta !== undefined) return undefined;
    return { ...first, ...second };
  }
  const [one, other] = [plainText(first), plainText(second)];
  if (one === undefined || other === undefined) return undefined;
  if (first.messageId !== second.messageId) return undefined;
  if (one.text.length + other.text.length > maxCharacters) return undefined;
  return { ...first, content: { type: "text", text: one.text + other.text } };
}

/** The content of a chunk that is plain text without annotations. */
function plainText(update: SessionUpdate): Text | undefined {
  if (!CHUNKS.has(update.sessionUpdate) || update._meta !== undefined) return undefined;
  const content = update.content as Partial<Text> | undefined;
  if (content?.type !== "text" || typeof content.text !== "string") return undefined;
  return Object.keys(content).length === 2 ? (content as Text) : undefined;
}
