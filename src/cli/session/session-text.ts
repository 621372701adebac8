import type { SessionEntry } from "../../session/open/session-commands.ts";
import { readForeignId } from "../../session/foreign/foreign-sessions.ts";
import type { PermissionOutcome } from "../../session/permission/permission.ts";
import type { SessionRecord } from "../../store/session/session-record.ts";
import type { WorktreeState } from "../../worktree/branches.ts";
import { firstLine, paint, table } from "../shell/layout.ts";

/** Renders a conversation as text, one event or update at a time. */
export class SessionText {
  readonly #bold: (text: string) => string;
  readonly #dim: (text: string) => string;
  /** Whether the last text ended with a line break. */
  #isAtStart = true;

  constructor(color: boolean) {
    this.#bold = (text) => paint("bold", text, color);
    this.#dim = (text) => paint("dim", text, color);
  }

  /** One event of the log. */
  event({ event }: SessionEntry): string {
    switch (event.kind) {
      case "prompt":
        return event.prompt
          .map((content) => this.update({ sessionUpdate: "user_message_chunk", content }))
          .join("");
      case "update":
        return this.update(event.update);
      case "permission":
        return this.#line(`? ${wordsOf(event.request.toolCall.title, "Permission requested")}`);
      case "answer": {
        const { outcome, by } = event;
        return this.#line(`  ${outcomeOf(outcome)} (${by})`);
      }
      case "setting":
        return this.#line(`* ${event.setting} ${event.id}`);
      case "end":
        if (event.stopReason === "end_turn") return this.#newLine();
        return this.#line(`! ${event.stopReason}${event.error ? `: ${event.error}` : ""}`);
    }
  }

  /** One `session/update`, as clients get it (ACP prompt-turn). */
  update(update: Readonly<Record<string, unknown>>): string {
    const text = textOf(update.content);
    switch (update.sessionUpdate) {
      case "user_message_chunk":
        return `${this.#newLine()}${this.#bold(`> ${text.replaceAll("\n", "\n> ")}`)}\n`;
      case "agent_message_chunk":
        return this.#said(text);
      case "agent_thought_chunk":
        return this.#dim(this.#said(text));
      case "tool_call":
        return this.#line(`- ${wordsOf(update.title)}`);
      case "tool_call_update":
        if (update.status !== "completed" && update.status !== "failed") return "";
        return this.#line(`  ${wordsOf(update.title)} ${update.status}`.trimEnd());
      case "plan":
        return this.#line(`Plan: ${planOf(update.entries)}`);
      case "notice":
        return this.#line(`! ${wordsOf(update.title)} ${wordsOf(update.description)}`);
      case "session_info_update":
        return this.#answered(update._meta);
      default:
        return "";
    }
  }

  /** Another client has answered a permission request. */
  #answered(meta: unknown): string {
    const { trunkline } = (meta ?? {}) as {
      readonly trunkline?: { readonly permission?: Answered };
    };
    const { state, by, outcome } = trunkline?.permission ?? {};
    if (state !== "answered") return "";
    return this.#line(`  ${outcomeOf(outcome)} (${wordsOf(by)})`);
  }

  #said(text: string): string {
    if (text !== "") this.#isAtStart = text.endsWith("\n");
    return text;
  }

  #newLine(): string {
    const end = this.#isAtStart ? "" : "\n";
    this.#isAtStart = true;
    return end;
  }

  #line(text: string): string {
    return `${this.#newLine()}${this.#dim(text)}\n`;
  }
}

interface Answered {
  readonly state?: unknown;
  readonly by?: unknown;
  readonly outcome?: PermissionOutcome;
}

function outcomeOf(outcome: PermissionOutcome | undefined): string {
  return outcome?.outcome === "selected" ? outcome.kind.replace("_", " ") : "cancelled";
}

function wordsOf(value: unknown, otherwise = ""): string {
  return typeof value === "string" ? value : otherwise;
}

function textOf(content: unknown): string {
  const { type, text, uri } = (content ?? {}) as { type?: string; text?: string; uri?: string };
  if (type === "text") return text ?? "";
  return type === undefined ? "" : `[${type}${uri === undefined ? "" : ` ${uri}`}]`;
}

function planOf(entries: unknown): string {
  const list = Array.isArray(entries) ? (entries as { content?: string; status?: string }[]) : [];
  return list.map(({ content, status }) => `${content} (${status})`).join(", ");
}

const LONGEST_TITLE = 40;
const HEADINGS = ["ID", "LAST USED", "STATE", "AGENT", "BRANCH", "TITLE", "FOLDER"];

function branchText({ branch, commits, uncommitted, isMissing }: WorktreeState): string {
  if (isMissing) return `${branch} (no folder)`;
  const parts = [
    ...(commits === 0 ? [] : [`+${commits}`]),
    ...(uncommitted === 0 ? [] : [`${uncommitted} changed`]),
  ];
  return parts.length === 0 ? branch : `${branch} (${parts.join(", ")})`;
}

/** A session, with whether it is open, or the state of a run that is not. */
export interface ListedSession extends SessionRecord {
  readonly state: "open" | "closed" | "hibernated" | "";
  readonly worktree?: WorktreeState | undefined;
}

/** One line per session. */
export function sessionTable(sessions: readonly ListedSession[], edge: number): string {
  const rows = sessions.map(({ id, agent, title, updated, cwd, state, worktree, notes }) => [
    // Ids of sessions that agents began themselves all begin alike.
    readForeignId(id) === undefined ? id.slice(0, 8) : id,
    new Date(updated).toISOString().slice(0, 16).replace("T", " "),
    state,
    agent,
    worktree === undefined ? "" : branchText(worktree),
    firstLine(title ?? "(no prompt yet)").slice(0, LONGEST_TITLE),
    runOf(notes)?.url ?? cwd,
  ]);
  // Most people have no session with a work tree, and no remote run.
  const used = HEADINGS.map((_, at) => rows.some((row) => row[at] !== ""));
  const shown = [HEADINGS, ...rows].map((row) => row.filter((_, at) => used[at]));
  const lines = table(shown).split("\n");
  return lines.map((line) => line.slice(0, Math.max(edge, 80)).trimEnd()).join("\n");
}

/** The repository of a remote run; its folder, in the data folder, says nothing to a person. */
function runOf(notes: ListedSession["notes"]): { readonly url?: string } | undefined {
  return notes.run as { readonly url?: string } | undefined;
}
