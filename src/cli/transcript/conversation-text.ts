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

export type ConversationText = ReturnType<typeof conversationText>;

/** Renders a conversation as text, one event of the log or `session/update` at a time (ACP prompt-turn). */
export function conversationText({ color = false, width }: TextOptions = {}) {
  const markdown = color && width !== undefined ? new MarkdownStream() : undefined;
  const calls = new Map<string, ToolCall>();
  const forms = new PlainForms();
  /** What the last text belongs to; another kind begins on a line of its own. */
  let last: "answer" | "thought" | "line" = "line";
  let isAtStart = true;

  /** The text to print for an event of the log. */
  function event({ event }: SessionEntry): string {
    switch (event.kind) {
      case "prompt":
        return event.prompt
          .map((content) => update({ sessionUpdate: "user_message_chunk", content }))
          .join("");
      case "update":
        return forms
          .of(event.update)
          .map((each) => update(each))
          .join("");
      case "permission": {
        const title = wordsOf(event.request.toolCall.title) || "Permission requested";
        return lines(dim(`? ${title}`));
      }
      case "answer":
        return answer(event);
      case "setting":
        return lines(dim(`* ${event.setting} ${event.id}`));
      case "end": {
        const { stopReason, error } = event;
        if (stopReason === "end_turn") return end();
        return end() + dim(`! ${stopReason}${error ? `: ${error}` : ""}`) + "\n";
      }
    }
  }

  /** The text to print for an update; empty if there is nothing to say. */
  function update(update: Json): string {
    switch (update.sessionUpdate) {
      case "user_message_chunk":
        return lines(paintLines("bold", quote(textOf(update.content)), color));
      case "agent_message_chunk":
        return said("answer", textOf(update.content));
      case "agent_thought_chunk":
        return said("thought", textOf(update.content));
      case "tool_call":
      case "tool_call_update":
        return tool(update);
      case "plan":
        return lines(planText(update.entries));
      case "notice":
        return lines(`! ${wordsOf(update.title)} ${wordsOf(update.description)}`.trimEnd());
      case "session_info_update":
        return answered(update._meta);
      default:
        return "";
    }
  }

  /** The end of a turn: prints the rest of the text, and ends the line. */
  function end(): string {
    calls.clear();
    return newLine();
  }

  /** The pending Markdown of an unfinished block. Print it before other output. */
  function rest(): string {
    return paintedLines(markdown?.end(width ?? 0) ?? []);
  }

  function said(kind: "answer" | "thought", text: string): string {
    if (text === "") return "";
    const before = last === kind ? "" : newLine();
    last = kind;
    if (kind === "answer" && markdown !== undefined)
      return before + paintedLines(markdown.write(text, width ?? 0));
    isAtStart = text.endsWith("\n");
    return before + (kind === "answer" ? text : dim(text));
  }

  function paintedLines(lines: readonly Line[]): string {
    return linesText(lines.map((each) => lineText(each, color)));
  }

  function tool(update: Json): string {
    const id = wordsOf(update.toolCallId);
    const known = calls.get(id);
    if (known !== undefined && isOver(known)) return "";
    const call = changedCall(known, update);
    calls.set(id, call);
    const title = visibleLine(call.title);
    if (!isOver(call)) return known === undefined ? lines(dim(`- ${title}`)) : "";
    const isGood = call.status === "completed";
    const mark = isGood ? paint("green", "✓", color) : paint("red", "✗", color);
    const why = isGood ? "" : firstLine(outputOf(call)).slice(0, LONGEST_LINE);
    const head = `${mark} ${dim(`${title}${why === "" ? "" : `: ${why}`}`)}`;
    const changes = firstLines(changesOf(call), MOST_LINES, "").map((each) => {
      return `  ${lineText(cutLine(each, LONGEST_LINE), color)}`;
    });
    return lines([head, ...changes].join("\n"));
  }

  /** Another client has answered a permission request. */
  function answered(meta: unknown): string {
    const { trunkline } = (meta ?? {}) as { trunkline?: { permission?: PermissionState } };
    const { permission } = trunkline ?? {};
    return permission?.state === "answered" ? answer(permission) : "";
  }

  function answer({ outcome, by }: Pick<PermissionState, "outcome" | "by">): string {
    const words = outcome?.outcome === "selected" ? outcome.kind.replace("_", " ") : "cancelled";
    return lines(dim(`  ${words} (${by})`));
  }

  function lines(text: string): string {
    const before = newLine();
    last = "line";
    return `${before}${text}\n`;
  }

  /** Ends the line, before something that others print. */
  function newLine(): string {
    const end = isAtStart ? "" : "\n";
    isAtStart = true;
    return end + rest();
  }

  function dim(text: string): string {
    return paintLines("dim", text, color);
  }

  return { event, update, end, rest, newLine };
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
