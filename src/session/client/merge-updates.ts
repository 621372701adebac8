import type { SessionUpdate } from "../agent.ts";

const TEXTS: ReadonlySet<string> = new Set([
  "agent_message_chunk",
  "agent_thought_chunk",
  "user_message_chunk",
  "compaction_summary_chunk",
]);

/** An update, with the bytes of its JSON once texts were joined: counting them anew for each is slow. */
interface SizedUpdate {
  readonly update: SessionUpdate;
  readonly bytes?: number | undefined;
}

/**
 * Merges two updates into one with the same effect; undefined where that is not possible. Text of one
 * message is joined up to so many bytes of JSON; of two updates of a tool call, the later fields win
 * (ACP tool-calls § Updating).
 */
export function mergeUpdates(
  { update: first, bytes: known }: SizedUpdate,
  second: SessionUpdate,
  maxBytes: number,
): SizedUpdate | undefined {
  if (first.sessionUpdate !== second.sessionUpdate) return undefined;
  if (first._meta !== undefined || second._meta !== undefined) return undefined;
  if (first.sessionUpdate === "tool_call_update" && first.toolCallId === second.toolCallId) {
    return { update: { ...first, ...second } };
  }
  if (!TEXTS.has(first.sessionUpdate) || !isSameBeside(first, second)) return undefined;
  const before = textOf(first.content);
  const after = textOf(second.content);
  if (before === undefined || after === undefined) return undefined;
  const quotes = 2;
  const bytes = (known ?? jsonBytes(first)) + jsonBytes(after) - quotes;
  if (bytes > maxBytes) return undefined;
  return { update: { ...first, content: { type: "text", text: before + after } }, bytes };
}

/** Whether two updates have the same members, their content aside. */
function isSameBeside(first: SessionUpdate, second: SessionUpdate): boolean {
  for (const name in second) {
    if (name !== "content" && first[name] !== second[name]) return false;
  }
  return countOf(first) === countOf(second);
}

function jsonBytes(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value));
}

/** The text of content that has nothing else. */
function textOf(content: unknown): string | undefined {
  const { type, text } = (content ?? {}) as Readonly<Record<string, unknown>>;
  if (type !== "text" || typeof text !== "string") return undefined;
  return countOf(content as object) === 2 ? text : undefined;
}

/** The number of members. It is counted for each piece of text, and a list of their names takes longer. */
function countOf(value: object): number {
  let count = 0;
  for (const _ in value) count++;
  return count;
}
