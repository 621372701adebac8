import type { ModelMessage, ToolResultPart } from "ai";

import type { ModelCost } from "../models/provider.ts";
import type { ToolAnswer } from "../tools/agent-tool.ts";
import type { ToolCall } from "../tools/tool-runner.ts";
import { tokensOf } from "./compact.ts";
import type { TokenUsage } from "./ask-model.ts";

/** The messages between a person and a model, as they are sent to the provider. */
export class Conversation {
  #messages: ModelMessage[];
  /** The provider's last count of tokens, and the number of messages it was for. */
  #counted = { tokens: 0, messages: 0 };

  #cost: number | undefined;

  constructor(messages: readonly ModelMessage[] = []) {
    this.#messages = [...messages];
  }

  get messages(): readonly ModelMessage[] {
    return this.#messages;
  }

  /** Size in tokens: as counted by the provider, plus an estimate for messages since then. */
  get size(): number {
    const { tokens, messages } = this.#counted;
    return tokens + tokensOf(this.#messages.slice(messages));
  }

  add(...messages: readonly ModelMessage[]): void {
    this.#messages.push(...messages);
  }

  /** Adds answers for all calls: providers refuse a conversation with an unanswered call. */
  addAnswers(calls: readonly ToolCall[], answers: ReadonlyMap<string, ToolAnswer>): void {
    if (calls.length === 0) return;
    const content = calls.map((call) => {
      return resultPart(call, answers.get(call.id) ?? { text: "(Cancelled.)", isError: true });
    });
    this.#messages.push({ role: "tool", content });
  }

  counted({ inputTokens, outputTokens }: TokenUsage): void {
    this.#counted = { tokens: inputTokens + outputTokens, messages: this.#messages.length };
  }

  /** US dollars since the session was opened; undefined if no model that was used has a price. */
  get cost(): number | undefined {
    return this.#cost;
  }

  spent(usage: TokenUsage, price: ModelCost): void {
    const { inputTokens, outputTokens, cachedReadTokens: cached } = usage;
    const { input, output, cachedInput = input } = price;
    const sum = (inputTokens - cached) * input + cached * cachedInput + outputTokens * output;
    this.#cost = (this.#cost ?? 0) + sum / 1_000_000;
  }

  replace(messages: readonly ModelMessage[]): void {
    this.#messages = [...messages];
    this.#counted = { tokens: 0, messages: 0 };
  }
}

function resultPart({ id, name }: ToolCall, answer: ToolAnswer): ToolResultPart {
  const base = { type: "tool-result", toolCallId: id, toolName: name } as const;
  const { text, isError = false, images = [] } = answer;
  const value = text === "" ? "(Nothing.)" : text;
  if (isError) return { ...base, output: { type: "error-text", value } };
  if (images.length === 0) return { ...base, output: { type: "text", value } };
  const files = images.map(({ data, mimeType }) => {
    return { type: "file", data: { type: "data", data }, mediaType: mimeType } as const;
  });
  return { ...base, output: { type: "content", value: [{ type: "text", text: value }, ...files] } };
}
