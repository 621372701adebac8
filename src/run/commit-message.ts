import { maskWhole } from "../base/text/mask.ts";
import type { Turn } from "../session/agent.ts";

const LONGEST_TITLE = 72;

/** The message of a turn's commit: the first line of the prompt as the title, the rest as the body. */
export function commitMessage({ prompt }: Pick<Turn, "prompt">): { title: string; body: string } {
  const texts = prompt.filter(({ type }) => type === "text").map(({ text }) => String(text));
  // The prompt may contain a token that the agent should use.
  const [first = "", ...rest] = maskWhole(texts.join("\n")).trim().split("\n");
  const line = first.replaceAll(/\p{Cc}+/gu, " ").trim() || "Changes by an agent";
  if (line.length <= LONGEST_TITLE) return { title: line, body: rest.join("\n").trim() };
  return { title: `${line.slice(0, LONGEST_TITLE - 1)}…`, body: [line, ...rest].join("\n").trim() };
}
