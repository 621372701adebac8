import type { ModelMessage, ToolCallPart, ToolResultPart } from "ai";

import type { HistoryEntry, SessionUpdate } from "../../session/agent.ts";
import { summaryOf } from "../../session/turn/replay.ts";
import { hookRunOf, refusesPrompt } from "../hooks/session-hooks.ts";
import { isNested } from "../subagent/nested-turn.ts";
import { promptMessage } from "./instructions.ts";
import { ASIDE } from "./speaker.ts";

/** The message that replaces a compacted conversation. */
export function summaryMessage(summary: string): ModelMessage {
  return { role: "user", content: `(The conversation so far, shortened.)\n\n${summary}` };
}

/** Rebuilds the messages for the model from the history of a session. */
export async function historyMessages(
  history: AsyncIterable<readonly HistoryEntry[]>,
): Promise<ModelMessage[]> {
  const reader = new HistoryReader();
  for await (const entries of history) for (const entry of entries) reader.add(entry);
  return reader.finish();
}

interface Call {
  readonly id: string;
  readonly name: string;
  readonly input: unknown;
  output: string | undefined;
  isError: boolean;
}

class HistoryReader {
  #messages: ModelMessage[] = [];
  #text = "";
  #calls = new Map<string, Call>();

  add(entry: HistoryEntry): void {
    if (entry.kind === "prompt") {
      this.#flush();
      this.#messages.push(promptMessage(entry.prompt));
    } else if (entry.kind === "end") {
      this.#flush();
      if (entry.stopReason === "interrupted" || entry.stopReason === "cancelled") {
        this.#messages.push({ role: "assistant", content: `(${entry.stopReason}.)` });
      }
    } else this.#update(entry.update);
  }

  finish(): ModelMessage[] {
    this.#flush();
    return this.#messages;
  }

  #update(update: SessionUpdate): void {
    const { sessionUpdate, content, _meta, toolCallId } = update;
    const meta = (_meta ?? {}) as Record<string, unknown>;
    // The model got only what a subagent answered.
    if (isNested(meta)) return;
    const hook = hookRunOf(update);
    if (hook !== undefined) {
      // The model never saw that prompt.
      if (refusesPrompt(hook)) this.#messages.pop();
      return;
    }
    const summary = summaryOf(update);
    if (summary !== undefined) {
      this.#flush();
      this.#messages = [summaryMessage(summary)];
    } else if (sessionUpdate === "agent_message_chunk" && meta[ASIDE] !== true) {
      // Text after a tool result starts a new message.
      if (this.#calls.size > 0) this.#flush();
      this.#text += textOf(content);
    } else if (sessionUpdate === "tool_call") {
      const { name, title, rawInput } = update;
      const input = typeof rawInput === "object" && rawInput !== null ? rawInput : {};
      const id = String(toolCallId);
      this.#calls.set(id, {
        id,
        name: String(name ?? title),
        input,
        output: undefined,
        isError: false,
      });
    } else if (sessionUpdate === "tool_call_update") this.#result(update);
  }

  #result({ toolCallId, status, content }: SessionUpdate): void {
    const call = this.#calls.get(String(toolCallId));
    if (call === undefined) return;
    if (Array.isArray(content)) call.output = content.map(shownText).join("\n");
    call.isError = status === "failed";
  }

  #flush(): void {
    const calls = [...this.#calls.values()];
    const text = this.#text === "" ? [] : [{ type: "text" as const, text: this.#text }];
    this.#text = "";
    this.#calls = new Map();
    if (calls.length === 0 && text.length === 0) return;
    this.#messages.push({ role: "assistant", content: [...text, ...calls.map(callPart)] });
    if (calls.length > 0) this.#messages.push({ role: "tool", content: calls.map(resultPart) });
  }
}

function callPart({ id, name, input }: Call): ToolCallPart {
  const plain = name.replaceAll(/[^a-zA-Z0-9_-]/g, "_").slice(0, 64);
  return { type: "tool-call", toolCallId: id, toolName: plain, input };
}

function resultPart(call: Call): ToolResultPart {
  const { toolName } = callPart(call);
  const value = call.output ?? "(Nobody knows how it ended.)";
  const type = call.isError ? "error-text" : "text";
  return { type: "tool-result", toolCallId: call.id, toolName, output: { type, value } };
}

function textOf(content: unknown): string {
  const { type, text } = (content ?? {}) as Record<string, unknown>;
  return type === "text" ? String(text) : "";
}

function shownText(content: unknown): string {
  const shown = (content ?? {}) as Record<string, unknown>;
  if (shown.type === "content") return textOf(shown.content);
  if (shown.type === "diff") return `(Changed ${String(shown.path)}.)`;
  return "(It ran in a terminal.)";
}
