import type { ContentBlock } from "./agent.ts";

const LONGEST = 80;

/** A title for a conversation: the first line of its first prompt. */
export function titleOf(prompt: readonly ContentBlock[]): string | undefined {
  for (const { type, text } of prompt) {
    if (type !== "text" || typeof text !== "string") continue;
    const line = text.trim().split("\n", 1)[0]?.trim() ?? "";
    if (line === "") continue;
    return line.length <= LONGEST ? line : `${line.slice(0, LONGEST - 1).toWellFormed()}…`;
  }
  return undefined;
}
