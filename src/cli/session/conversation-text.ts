import { diffLines } from "../../base/text/diff-lines.ts";
import { visibleLine } from "../../base/text/visible.ts";
import { PlainForms } from "../../protocol/acp/update-forms.ts";
import type { SessionEntry } from "../../session/open/session-commands.ts";
import type { PermissionOutcome } from "../../session/permission/permission.ts";
import { counted, firstLine, paint, paintLines, type StyleName } from "../shell/layout.ts";

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

/** Renders a conversation as text, one event of the log or `session/update` at a time (ACP prompt-turn). */
export class ConversationText {
  readonly #color: boolean;
  readonly #hasStatusLine: boolean;
  readonly #markdown: MarkdownText;
  readonly #calls = new Map<string, ToolCall>();
  readonly #forms = new PlainForms();
  /** What the last text belongs to; another kind begins on a line of its own. */
  #kind: "answer" | "thought" | "line" = "line";
  #isAtStart = true;

  /** A status line shows the running tool call; without one, the start of each call is printed. */
  constructor(color: boolean, hasStatusLine = false) {
    this.#color = color;
    this.#hasStatusLine = hasStatusLine;
    this.#markdown = new MarkdownText(color);
  }

  /** The title of the tool call that runs, if one does. */
  get running(): string | undefined {
    return [...this.#calls.values()].findLast(({ isOver }) => !isOver)?.title;
  }

  /** The text to print for an event of the log. */
  event({ event }: SessionEntry): string {
    switch (event.kind) {
      case "prompt":
        return event.prompt
          .map((content) => this.update({ sessionUpdate: "user_message_chunk", content }))
          .join("");
      case "update":
        return this.#forms
          .of(event.update)
          .map((each) => this.update(each))
          .join("");
      case "permission": {
        const title = wordsOf(event.request.toolCall.title) || "Permission requested";
        return this.#lines(this.#dim(`? ${title}`));
      }
      case "answer":
        return this.#answer(event);
      case "setting":
        return this.#lines(this.#dim(`* ${event.setting} ${event.id}`));
      case "end": {
        const { stopReason, error } = event;
        if (stopReason === "end_turn") return this.end();
        return this.end() + this.#dim(`! ${stopReason}${error ? `: ${error}` : ""}`) + "\n";
      }
    }
  }

  /** The text to print for an update; empty if there is nothing to say. */
  update(update: Json): string {
    switch (update.sessionUpdate) {
      case "user_message_chunk":
        return this.#lines(paintLines("bold", quote(textOf(update.content)), this.#color));
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
      case "session_info_update":
        return this.#answered(update._meta);
      default:
        return "";
    }
  }

  /** The end of a turn: prints the rest of the text, and ends the line. */
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
    if (!isOver) {
      if (this.#hasStatusLine || known !== undefined) return "";
      return this.#lines(this.#dim(`- ${call.title}`));
    }
    const isGood = update.status === "completed";
    const mark = isGood ? paint("green", "✓", this.#color) : paint("red", "✗", this.#color);
    const why = isGood ? "" : failureOf(call.content);
    const head = `${mark} ${this.#dim(`${call.title}${why === "" ? "" : `: ${why}`}`)}`;
    return this.#lines([head, ...call.content.flatMap((part) => this.#diff(part))].join("\n"));
  }

  /** Another client has answered a permission request. */
  #answered(meta: unknown): string {
    const { trunkline } = (meta ?? {}) as { trunkline?: { permission?: PermissionState } };
    const { permission } = trunkline ?? {};
    return permission?.state === "answered" ? this.#answer(permission) : "";
  }

  #answer({ outcome, by }: Pick<PermissionState, "outcome" | "by">): string {
    const words = outcome?.outcome === "selected" ? outcome.kind.replace("_", " ") : "cancelled";
    return this.#lines(this.#dim(`  ${words} (${by})`));
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

interface PermissionState {
  readonly state?: unknown;
  readonly by?: string;
  readonly outcome?: PermissionOutcome;
}

function quote(text: string): string {
  return `> ${text.replaceAll("\n", "\n> ")}`;
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
export function aroundChanges(lines: readonly string[]): string[] {
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

/** The beginning of a line that may still become a heading or a fence. */
const UNDECIDED = /^ {0,3}(?:#{0,6}|`{0,2}|~{0,2})$/;
const HEADING = /^ {0,3}#{1,6} $/;
const FENCE = /^ {0,3}(?:```|~~~)/;

/**
 * Shows Markdown as it arrives, piece by piece: headings and bold text bold, code in colour. The marks
 * of bold text, inline code and headings are left out; everything else stays as it was written, so
 * that code can be copied.
 */
export class MarkdownText {
  readonly #color: boolean;
  /** The beginning of the line, until it is known what the line is. */
  #head: string | undefined = "";
  /** Stars at the end of what arrived; the next character decides what they mean. */
  #held = "";
  #line: "text" | "heading" | "fence" = "text";
  #isBold = false;
  #isCode = false;
  #isInBlock = false;

  constructor(color: boolean) {
    this.#color = color;
  }

  /** The text to print for the next piece. */
  write(text: string): string {
    if (!this.#color) return text;
    const [first = "", ...others] = text.split("\n");
    return [
      this.#part(first),
      ...others.map((part) => `${this.#endLine()}\n${this.#part(part)}`),
    ].join("");
  }

  /** The rest, when nothing more comes. */
  end(): string {
    const rest = this.#color ? this.#endLine() : "";
    this.#isInBlock = false;
    return rest;
  }

  /** A piece of one line. */
  #part(text: string): string {
    if (this.#head === undefined) return this.#inLine(text);
    let at = 0;
    while (at < text.length) {
      this.#head += text[at++];
      if (!UNDECIDED.test(this.#head)) return this.#decide(text.slice(at));
    }
    return "";
  }

  /** It is known now what the line is: its beginning is printed, and what follows. */
  #decide(rest: string): string {
    const head = this.#head ?? "";
    this.#head = undefined;
    if (FENCE.test(head)) this.#line = "fence";
    else if (HEADING.test(head) && !this.#isInBlock) {
      this.#line = "heading";
      return this.#inLine(rest);
    }
    return this.#inLine(head + rest);
  }

  #endLine(): string {
    const begun = this.#head === undefined ? "" : this.#decide("");
    const rest = this.#held === "" ? "" : this.#paint(this.#held);
    if (this.#line === "fence") this.#isInBlock = !this.#isInBlock;
    this.#head = "";
    this.#held = "";
    this.#line = "text";
    this.#isBold = false;
    this.#isCode = false;
    return begun + rest;
  }

  #inLine(text: string): string {
    if (this.#isInBlock || this.#line === "fence") return this.#paint(text);
    const all = this.#held + text;
    this.#held = "";
    let shown = "";
    let run = "";
    const turn = (change: () => void): void => {
      shown += this.#paint(run);
      run = "";
      change();
    };
    for (let at = 0; at < all.length; at++) {
      const character = all[at];
      if (character === "`") turn(() => (this.#isCode = !this.#isCode));
      else if (character !== "*" || this.#isCode) run += character;
      else if (at + 2 >= all.length && /^\*{1,2}$/.test(all.slice(at)) && !this.#closes(all, at)) {
        this.#held = all.slice(at);
        break;
      } else if (all[at + 1] === "*" && (this.#isBold || /\S/.test(all[at + 2] ?? ""))) {
        turn(() => (this.#isBold = !this.#isBold));
        at++;
      } else run += character;
    }
    return shown + this.#paint(run);
  }

  /** Whether these are two stars that end bold text: they do not depend on the next character. */
  #closes(all: string, at: number): boolean {
    return this.#isBold && all[at + 1] === "*";
  }

  #paint(text: string): string {
    if (text === "") return "";
    const style = this.#style();
    return style === undefined ? text : paint(style, text, true);
  }

  #style(): StyleName | undefined {
    if (this.#line === "fence") return "dim";
    if (this.#isInBlock || this.#isCode) return "cyan";
    return this.#isBold || this.#line === "heading" ? "bold" : undefined;
  }
}
