import type { SessionUpdate } from "../agent.ts";
import { TextChunk } from "./text-chunk.ts";

/**
 * Merges two updates into one with the same effect; undefined where that is not possible. Text of one
 * message is joined up to so many bytes of JSON; of two updates of a tool call, the later fields win
 * (ACP tool-calls § Updating).
 */
export function mergeUpdates(
  first: SessionUpdate,
  second: SessionUpdate,
  maxBytes: number,
): SessionUpdate | undefined {
  const kind = first.sessionUpdate;
  if (kind !== second.sessionUpdate) return undefined;
  if (kind === "tool_call_update" && first.toolCallId === second.toolCallId) {
    if (first._meta !== undefined || second._meta !== undefined) return undefined;
    return { ...first, ...second };
  }
  const [one, other] = [TextChunk.from(first), TextChunk.from(second)];
  return one === undefined || other === undefined ? undefined : one.join(other, maxBytes);
}
