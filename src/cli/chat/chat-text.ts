import { visibleLine } from "../../base/text/visible.ts";
import { counted, firstLine } from "../shell/layout.ts";
import { paint, paintLines } from "../shell/style.ts";
import { diffLines } from "../../base/text/diff-lines.ts";
import { MarkdownText } from "./markdown-text.ts";

type Json = Readonly<Record<string, unknown>>;

/** Lines of one diff that are shown, and characters of one line. */
const MOST_LINES = 40;
const LONGEST_LINE = 200;
/** Unchanged lines that are shown around a change. */
const CONTEXT = 2;

interface ToolCall {
  readonly title: string;
  readonly content: readonly Json[];
  readonly isOver: boolean;
}

/** Renders a conversation for a terminal, one `session/update` at a time (ACP prompt-turn). */
export class ChatText {
  readonly #color: boolean;
  readonly #markdown: MarkdownText;
  readonly #calls = new Map<string, ToolCall>();
  /** What the last text belongs to; another kind begins on a line of its own. */
  #kind: "answer" | "thought" | "line" = "line";
  #isAtStart = true;

  constructor(color: boolean) {
    this.#color = color;
    this.#markdown = new MarkdownText(color);
  }

  /** The title of the tool call that runs, if one does. */
  get running(): string | undefined {
    return [...this.#calls.values()].findLast(({ isOver }) => !isOver)?.title;
  }

  /** The text to print for an update; empty if there is nothing to say. */
  update(update: Json): string {
    switch (update.sessionUpdate) {
      case "user_message_chunk":
        return this.#lines(paintLines("bold", `> ${textOf(update.content)}`, this.#color));
      case "agent_message_chunk":
        return this.#said("answer", textOf(update.content));
      case "agent_thought_chunk":
        return this.#said("thought", textOf(update.content));
      case "tool_call":
      case "tool_call_update":
        return this.#tool(update);
      case "plan":
        return this.#lines(planText(update.entries));
      case "notice":
        return this.#lines(`! ${wordsOf(update.title)} ${wordsOf(update.description)}`.trimEnd());
      default:
        return "";
    }
  }

  /** The end of a turn: what is unfinished is printed, and the line ends. */
  end(): string {
    this.#calls.clear();
    return this.#newLine();
  }

  #said(kind: "answer" | "thought", text: string): string {
    if (text === "") return "";
    const before = this.#kind === kind ? "" : this.#newLine();
    this.#kind = kind;
    this.#isAtStart = text.endsWith("\n");
    return before + (kind === "answer" ? this.#markdown.write(text) : this.#dim(text));
  }

  #tool(update: Json): string {
    const id = wordsOf(update.toolCallId);
    const known = this.#calls.get(id);
    if (known?.isOver === true) return "";
    const isOver = update.status === "completed" || update.status === "failed";
    const content = Array.isArray(update.content) ? (update.content as Json[]) : known?.content;
    const title = wordsOf(update.title) || known?.title || "a tool";
    const call = { title: visibleLine(title), content: content ?? [], isOver };
    this.#calls.set(id, call);
    if (!isOver) return "";
    const isGood = update.status === "completed";
    const mark = isGood ? paint("green", "✓", this.#color) : paint("red", "✗", this.#color);
    const why = isGood ? "" : failureOf(call.content);
    const head = `${mark} ${this.#dim(`${call.title}${why === "" ? "" : `: ${why}`}`)}`;
    return this.#lines([head, ...call.content.flatMap((part) => this.#diff(part))].join("\n"));
  }

  #diff({ type, path, oldText, newText }: Json): string[] {
    if (type !== "diff") return [];
    const lines = aroundChanges(diffLines(linesOf(oldText), linesOf(newText)));
    const shown = lines.slice(0, MOST_LINES).map((line) => this.#colored(line));
    const more = lines.length - shown.length;
    const rest = more > 0 ? [this.#dim(`  … ${counted(more, "more line")}`)] : [];
    return [this.#dim(`  ${visibleLine(wordsOf(path))}`), ...shown, ...rest];
  }

  #colored(line: string): string {
    const cut = line.length > LONGEST_LINE ? `${line.slice(0, LONGEST_LINE)}…` : line;
    const text = `  ${visibleLine(cut)}`;
    if (line.startsWith("+")) return paint("green", text, this.#color);
    return line.startsWith("-") ? paint("red", text, this.#color) : this.#dim(text);
  }

  #lines(text: string): string {
    const before = this.#newLine();
    this.#kind = "line";
    return `${before}${text}\n`;
  }

  #newLine(): string {
    const rest = this.#markdown.end();
    const end = this.#isAtStart ? "" : "\n";
    this.#isAtStart = true;
    return rest + end;
  }

  #dim(text: string): string {
    return paintLines("dim", text, this.#color);
  }
}

function wordsOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}

function textOf(content: unknown): string {
  const { type, text, uri } = (content ?? {}) as { type?: string; text?: string; uri?: string };
  if (type === "text") return text ?? "";
  return type === undefined ? "" : `[${type}${uri === undefined ? "" : ` ${uri}`}]`;
}

function linesOf(text: unknown): string[] {
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

/** The first words of what a tool call says about its failure. */
function failureOf(content: readonly Json[]): string {
  const texts = content.map((part) => textOf(part.content)).filter((text) => text !== "");
  return firstLine(texts[0] ?? "").slice(0, LONGEST_LINE);
}

const PLAN_MARKS: Readonly<Record<string, string>> = { completed: "✓", in_progress: "▸" };

function planText(entries: unknown): string {
  const list = Array.isArray(entries) ? (entries as Json[]) : [];
  const lines = list.map(({ content, status }) => {
    return `  ${PLAN_MARKS[wordsOf(status)] ?? "·"} ${visibleLine(wordsOf(content))}`;
  });
  return ["Plan:", ...lines].join("\n");
}
