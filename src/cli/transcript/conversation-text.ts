import { visibleLine } from "../../base/text/visible.ts";
import { PlainForms } from "../../protocol/acp/update-forms.ts";
import type { SessionEntry } from "../../session/event.ts";
import type { PermissionOutcome } from "../../session/permission/permission.ts";
import { MarkdownStream } from "./markdown-lines.ts";
import { cutLine, type Line, lineText } from "./styled-line.ts";
import {
  changedCall,
  changesOf,
  firstLines,
  isOver,
  type Json,
  outputOf,
  type ToolCall,
  wordsOf,
} from "./tool-content.ts";
import { firstLine, linesText, paint, paintLines } from "../shell/layout.ts";

/** Lines of changes that are shown of a tool call, and characters of one line. */
const MOST_LINES = 40;
const LONGEST_LINE = 200;

interface TextOptions {
  readonly color?: boolean;
  /** Columns in which Markdown is set, in colour. Without them it is printed as it was written, at once. */
  readonly width?: number;
}

/** Renders a conversation as text, one event of the log or `session/update` at a time (ACP prompt-turn). */
export class ConversationText {
  readonly #color: boolean;
  readonly #width: number;
  readonly #markdown: MarkdownStream | undefined;
  readonly #calls = new Map<string, ToolCall>();
  readonly #forms = new PlainForms();
  /** What the last text belongs to; another kind begins on a line of its own. */
  #kind: "answer" | "thought" | "line" = "line";
  #isAtStart = true;

  constructor({ color = false, width }: TextOptions = {}) {
    this.#color = color;
    this.#width = width ?? 0;
    this.#markdown = color && width !== undefined ? new MarkdownStream() : undefined;
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
    return this.newLine();
  }

  /** The pending Markdown of an unfinished block. Print it before other output. */
  rest(): string {
    return this.#set(this.#markdown?.end(this.#width) ?? []);
  }

  #said(kind: "answer" | "thought", text: string): string {
    if (text === "") return "";
    const before = this.#kind === kind ? "" : this.newLine();
    this.#kind = kind;
    if (kind === "answer" && this.#markdown !== undefined)
      return before + this.#set(this.#markdown.write(text, this.#width));
    this.#isAtStart = text.endsWith("\n");
    return before + (kind === "answer" ? text : this.#dim(text));
  }

  #set(lines: readonly Line[]): string {
    return linesText(lines.map((each) => lineText(each, this.#color)));
  }

  #tool(update: Json): string {
    const id = wordsOf(update.toolCallId);
    const known = this.#calls.get(id);
    if (known !== undefined && isOver(known)) return "";
    const call = changedCall(known, update);
    this.#calls.set(id, call);
    const title = visibleLine(call.title);
    if (!isOver(call)) return known === undefined ? this.#lines(this.#dim(`- ${title}`)) : "";
    const isGood = call.status === "completed";
    const mark = isGood ? paint("green", "✓", this.#color) : paint("red", "✗", this.#color);
    const why = isGood ? "" : firstLine(outputOf(call)).slice(0, LONGEST_LINE);
    const head = `${mark} ${this.#dim(`${title}${why === "" ? "" : `: ${why}`}`)}`;
    const changes = firstLines(changesOf(call), MOST_LINES, "").map((each) => {
      return `  ${lineText(cutLine(each, LONGEST_LINE), this.#color)}`;
    });
    return this.#lines([head, ...changes].join("\n"));
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

  #lines(text: string): string {
    const before = this.newLine();
    this.#kind = "line";
    return `${before}${text}\n`;
  }

  /** Ends the line, before something that others print. */
  newLine(): string {
    const end = this.#isAtStart ? "" : "\n";
    this.#isAtStart = true;
    return end + this.rest();
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

/** Content with its whole address, which a text that is stored needs. */
function textOf(content: unknown): string {
  const { type, text, uri } = (content ?? {}) as { type?: string; text?: string; uri?: string };
  if (type === "text") return text ?? "";
  return type === undefined ? "" : `[${type}${uri === undefined ? "" : ` ${uri}`}]`;
}

const PLAN_MARKS: Readonly<Record<string, string>> = { completed: "✓", in_progress: "▸" };

function planText(entries: unknown): string {
  const list = Array.isArray(entries) ? (entries as Json[]) : [];
  const lines = list.map(({ content, status }) => {
    return `  ${PLAN_MARKS[wordsOf(status)] ?? "·"} ${visibleLine(wordsOf(content))}`;
  });
  return ["Plan:", ...lines].join("\n");
}
