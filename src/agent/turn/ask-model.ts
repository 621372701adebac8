import type * as AiLibrary from "ai";
import type { LanguageModel, ModelMessage, ToolSet } from "ai";

import { TrunklineError } from "../../base/errors.ts";
import type { Stop } from "../../base/stop.ts";
import type { ThinkingLevel } from "../models/thinking.ts";
import type { AgentTool } from "../tools/agent-tool.ts";
import type { ToolCall } from "../tools/tool-runner.ts";
import type { Speaker } from "./speaker.ts";

export interface ModelQuestion {
  readonly model: LanguageModel;
  readonly instructions: string;
  readonly messages: readonly ModelMessage[];
  readonly tools: readonly AgentTool[];
  readonly thinking: ThinkingLevel;
  readonly speaker: Speaker;
  readonly stop: Stop;
  /** Milliseconds without data after which the stream is given up. */
  readonly silence: number;
  /** Called with each piece of text, also if the answer fails later. */
  readonly said: (text: string) => void;
}

export interface TokenUsage {
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly cachedReadTokens: number;
  readonly thoughtTokens: number;
}

/** One answer of a model: messages and tool calls. */
export interface ModelAnswer {
  readonly messages: readonly ModelMessage[];
  readonly calls: readonly ToolCall[];
  readonly finish: string;
  readonly usage: TokenUsage | undefined;
}

/** Sends one request to a model, and passes its text on as it arrives. */
export async function askModel(question: ModelQuestion): Promise<ModelAnswer> {
  const { model, instructions, messages, speaker, stop } = question;
  const ai = await import("ai");
  // The library would print warnings to stdout, which belongs to the protocol.
  (globalThis as { AI_SDK_LOG_WARNINGS?: false }).AI_SDK_LOG_WARNINGS = false;
  const abort = new AbortController();
  const relay = { stopped: (reason: Error) => abort.abort(reason) };
  stop.add(relay);
  const silence = setTimeout(() => abort.abort(silent(question.silence)), question.silence);
  const calls: ToolCall[] = [];
  let finish: string | undefined;
  let usage: TokenUsage | undefined;
  try {
    const result = ai.streamText({
      model,
      instructions: { role: "system", content: instructions, providerOptions: CACHED },
      messages: withCacheMark(messages),
      tools: toolSet(question.tools, ai),
      ...(question.thinking === "default" ? {} : { reasoning: question.thinking }),
      maxRetries: 0,
      abortSignal: abort.signal,
      onError: () => {},
    });
    for await (const part of result.stream) {
      silence.refresh();
      if (part.type === "text-delta") {
        question.said(part.text);
        await speaker.stream("text", part.text);
      } else if (part.type === "reasoning-delta") await speaker.stream("thought", part.text);
      else if (part.type === "tool-call") calls.push(callOf(part));
      else if (part.type === "finish") {
        finish = part.finishReason;
        usage = usageOf(part.totalUsage);
      } else if (part.type === "error") throw part.error;
    }
    await speaker.settled();
    abort.signal.throwIfAborted();
    if (finish === undefined || finish === "error") throw new Error("the answer broke off");
    const said = await result.responseMessages;
    return { messages: said.filter(({ role }) => role === "assistant"), calls, finish, usage };
  } catch (error) {
    // The library's own error does not contain the reason of the abort.
    throw abort.signal.aborted ? abort.signal.reason : error;
  } finally {
    clearTimeout(silence);
    stop.remove(relay);
    // Ends the request if the stream was not read to its end.
    abort.abort();
  }
}

type Library = Pick<typeof AiLibrary, "tool" | "jsonSchema">;

/** Marks the end of the prefix that Anthropic caches. */
const CACHED = { anthropic: { cacheControl: { type: "ephemeral" } } };

function withCacheMark(messages: readonly ModelMessage[]): ModelMessage[] {
  return messages.map((message, index) => {
    return index === messages.length - 1 ? { ...message, providerOptions: CACHED } : message;
  });
}

function toolSet(tools: readonly AgentTool[], { tool, jsonSchema }: Library): ToolSet {
  return Object.fromEntries(
    tools.map(({ name, description, inputSchema }) => {
      return [name, tool({ description, inputSchema: jsonSchema(inputSchema) })];
    }),
  );
}

function callOf(part: {
  readonly toolCallId: string;
  readonly toolName: string;
  readonly input: unknown;
  readonly invalid?: boolean | undefined;
  readonly error?: unknown;
}): ToolCall {
  const { toolCallId: id, toolName: name, input: args } = part;
  if (part.invalid !== true || name === "") return { id, name, args };
  const isText = typeof args === "string";
  const problem = isText
    ? "The arguments are not valid JSON; repeat the call with complete arguments"
    : undefined;
  return { id, name, args, problem };
}

function usageOf(usage: {
  readonly inputTokens: number | undefined;
  readonly outputTokens: number | undefined;
  readonly inputTokenDetails: { readonly cacheReadTokens: number | undefined };
  readonly outputTokenDetails: { readonly reasoningTokens: number | undefined };
}): TokenUsage | undefined {
  const { inputTokens = 0, outputTokens = 0, inputTokenDetails, outputTokenDetails } = usage;
  if (inputTokens === 0 && outputTokens === 0) return undefined;
  return {
    inputTokens,
    outputTokens,
    cachedReadTokens: inputTokenDetails.cacheReadTokens ?? 0,
    thoughtTokens: outputTokenDetails.reasoningTokens ?? 0,
  };
}

function silent(milliseconds: number): TrunklineError {
  const says = `said nothing for ${Math.round(milliseconds / 1000)} s`;
  return new TrunklineError("timeout", says);
}
