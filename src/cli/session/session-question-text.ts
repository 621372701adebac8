import { visibleLine } from "../../base/text/visible.ts";
import { diffLines } from "../tools/diff-lines.ts";

type Json = Readonly<Record<string, unknown>>;

/** What an agent wants to do, for the person who is to allow it: all of it. */
export function questionText(toolCall: Json): string {
  const { title, content, rawInput } = toolCall;
  const head = typeof title === "string" ? visibleLine(title) : "May it go on?";
  const parts = Array.isArray(content) ? content.flatMap((part) => contentLines(part as Json)) : [];
  // Arguments say the same in fewer words; they are all there is of some agents.
  const input = parts.length === 0 && rawInput !== undefined ? rawInput : undefined;
  const lines = input === undefined ? parts : JSON.stringify(input, null, 2).split("\n");
  return [head, ...lines.map((line) => `    ${line}`)].join("\n");
}

function contentLines({ type, content, path, oldText, newText }: Json): string[] {
  if (type === "diff") {
    const lines = diffLines(linesOf(oldText), linesOf(newText));
    return [visibleLine(String(path)), ...lines];
  }
  const { text } = (content ?? {}) as Json;
  return typeof text === "string" ? text.split("\n") : [];
}

function linesOf(text: unknown): string[] {
  return typeof text === "string" && text !== "" ? text.split("\n") : [];
}
