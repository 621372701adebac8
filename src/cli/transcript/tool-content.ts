import { diffLines } from "../../base/text/diff-lines.ts";
import { counted } from "../../base/text/counted.ts";
import { diffLine } from "./markdown-lines.ts";
import { type Line, linesOf, span } from "./styled-line.ts";

/** Unchanged lines that are shown around a change. */
const CONTEXT = 2;

export type Json = Readonly<Record<string, unknown>>;

/** A tool call as far as it is known. */
export interface ToolCall {
  readonly title: string;
  readonly status: string;
  readonly content: readonly Json[];
  readonly rawInput: unknown;
}

export function wordsOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}

/** A call with what an update changes of it. */
export function changedCall(known: ToolCall | undefined, update: Json): ToolCall {
  const { title, status, content, rawInput } = update;
  return {
    title: wordsOf(title) || known?.title || "a tool",
    status: wordsOf(status) || known?.status || "pending",
    content: Array.isArray(content) ? (content as Json[]) : (known?.content ?? []),
    rawInput: rawInput ?? known?.rawInput,
  };
}

export function isOver({ status }: Json | ToolCall): boolean {
  return status === "completed" || status === "failed";
}

/** The text of content: of a message, or of a part of a tool call. */
export function textOf(content: unknown): string {
  const { type, text, uri, name } = (content ?? {}) as Json;
  if (type === "text") return wordsOf(text);
  if (typeof type !== "string") return "";
  const what = wordsOf(name) || wordsOf(uri);
  return `[${type.replaceAll("_", " ")}${what === "" ? "" : ` ${what}`}]`;
}

/** What a tool call has said, without its changes of files. */
export function outputOf({ content }: ToolCall): string {
  const texts = content
    .filter(({ type }) => type === "content")
    .map((part) => textOf(part.content));
  const text = texts.join("\n");
  // Some agents wrap the output of a command in a code block.
  return (/^\s*(`{3,})[^\n]*\n([^]*?)\n?\1\s*$/.exec(text)?.[2] ?? text).trimEnd();
}

/** The changed lines of files with a few around each change. */
export function changesOf({ content }: ToolCall): Line[] {
  return content.flatMap(({ type, path, oldText, newText }) => {
    if (type !== "diff") return [];
    const lines = diffLines(rowsOf(oldText), rowsOf(newText));
    const added = lines.filter((each) => each.startsWith("+")).length;
    const removed = lines.filter((each) => each.startsWith("-")).length;
    const head = [span(wordsOf(path), "bold"), span(` +${added} -${removed}`, "dim")];
    return [head, ...aroundChanges(lines).map(diffLine)];
  });
}

/** Everything that is known of a call, for a person who opens it or decides about it. */
export function wholeCall(call: ToolCall): Line[] {
  const output = outputOf(call);
  const lines = [...changesOf(call), ...(output === "" ? [] : linesOf(output))];
  if (lines.length > 0 || call.rawInput === undefined) return lines;
  return linesOf(JSON.stringify(call.rawInput, null, 2));
}

/** The first lines, and how many more there are. */
export function firstLines(lines: readonly Line[], most: number, more: string): Line[] {
  if (lines.length <= most) return [...lines];
  const left = lines.length - most + 1;
  return [
    ...lines.slice(0, most - 1),
    [span(`\u2026 ${counted(left, "more line")}${more}`, "dim")],
  ];
}

export function indentLines(lines: readonly Line[]): Line[] {
  return lines.map((each) => [span("    "), ...each]);
}

/** The lines of a file. */
function rowsOf(text: unknown): string[] {
  if (typeof text !== "string" || text === "") return [];
  return text.replace(/\n$/, "").split("\n");
}

/** The changed lines with a few around them; `…` stands for the others. */
function aroundChanges(lines: readonly string[]): string[] {
  const isNear = (at: number): boolean =>
    lines.slice(Math.max(0, at - CONTEXT), at + CONTEXT + 1).some((line) => !line.startsWith(" "));
  return lines.flatMap((line, at) => {
    if (isNear(at)) return [line];
    return at === 0 || isNear(at - 1) ? ["  …"] : [];
  });
}
