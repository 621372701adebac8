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
  readonly bytes?: number;
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
  const [before, after] = [textOf(first), textOf(second)];
  if (before === undefined || after === undefined) return undefined;
  if (!isSameBeside(first, second)) return undefined;
  const quotes = 2;
  const bytes = (known ?? jsonBytes(first)) + jsonBytes(after) - quotes;
  return bytes > maxBytes ? undefined : { update: withText(first, before + after), bytes };
}

/** Whether two updates have the same members, their content aside. */
function isSameBeside(first: SessionUpdate, second: SessionUpdate): boolean {
  const names = Object.keys(second);
  return (
    names.length === Object.keys(first).length &&
    names.every((name) => name === "content" || first[name] === second[name])
  );
}

function jsonBytes(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value));
}

/** The text of an update that carries nothing else. */
function textOf({ sessionUpdate, content }: SessionUpdate): string | undefined {
  if (!TEXTS.has(sessionUpdate)) return undefined;
  const { type, text } = (content ?? {}) as Readonly<Record<string, unknown>>;
  if (type !== "text" || typeof text !== "string") return undefined;
  return Object.keys(content as object).length === 2 ? text : undefined;
}

function withText(update: SessionUpdate, text: string): SessionUpdate {
  return { ...update, content: { type: "text", text } };
}
