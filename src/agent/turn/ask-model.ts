import { setTimeout as sleep } from "node:timers/promises";

import type * as AiLibrary from "ai";
import type { LanguageModel, LanguageModelUsage, ModelMessage, ToolSet, TypedToolCall } from "ai";

import { TrunklineError } from "../../base/errors.ts";
import { Backoff } from "../../base/limit/backoff.ts";
import type { Log } from "../../base/log.ts";
import { maskText } from "../../base/text/mask.ts";
import { ACP, TRUNKLINE } from "../../rpc/codes.ts";
import { RpcError } from "../../rpc/rpc-error.ts";
import type { Turn } from "../../session/agent.ts";
import type { ThinkingLevel } from "../models/models.ts";
import { type AgentTool, textContent } from "../tools/agent-tool.ts";
import type { ToolCall } from "../tools/tool-runner.ts";
import type { Speaker } from "./speaker.ts";

interface ModelQuestion {
  readonly model: LanguageModel;
  readonly instructions: string;
  /** Names the conversation for the provider's cache. */
  readonly cacheKey?: string | undefined;
  readonly messages: readonly ModelMessage[];
  readonly tools: readonly AgentTool[];
  readonly thinking: ThinkingLevel;
  readonly speaker: Speaker;
  readonly signal: AbortSignal;
  /** Milliseconds without data after which the stream is given up. */
  readonly silence: number;
  /** Called with each piece of text, also if the answer fails later. */
  readonly said: (text: string) => void;
}

export const NO_TOKENS = {
  inputTokens: 0,
  outputTokens: 0,
  cachedReadTokens: 0,
  cachedWriteTokens: 0,
  thoughtTokens: 0,
};

export type TokenUsage = Readonly<typeof NO_TOKENS>;

/** One answer of a model: messages and tool calls. */
export interface ModelAnswer {
  readonly messages: readonly ModelMessage[];
  readonly calls: readonly ToolCall[];
  readonly finish: string;
  readonly usage: TokenUsage | undefined;
}

/** Sends one request to a model, and passes its text on as it arrives. */
async function askModel(question: ModelQuestion): Promise<ModelAnswer> {
  const { model, instructions, messages, speaker, cacheKey } = question;
  const ai = await import("ai");
  // The library would print warnings to stdout, which belongs to the protocol.
  (globalThis as { AI_SDK_LOG_WARNINGS?: false }).AI_SDK_LOG_WARNINGS = false;
  const giveUp = new AbortController();
  const signal = AbortSignal.any([question.signal, giveUp.signal]);
  const silent = `said nothing for ${Math.round(question.silence / 1000)} s`;
  const stop = (): void => giveUp.abort(new TrunklineError("timeout", silent));
  using silence = setTimeout(stop, question.silence);
  const calls: ToolCall[] = [];
  let finish: string | undefined;
  let usage: TokenUsage | undefined;
  try {
    const result = ai.streamText({
      model,
      instructions: { role: "system", content: instructions, providerOptions: CACHED },
      messages: withCacheMark(messages),
      tools: toolSet(question.tools, ai),
      ...(cacheKey && { providerOptions: { openai: { promptCacheKey: cacheKey } } }),
      ...(question.thinking === "default" ? {} : { reasoning: question.thinking }),
      maxRetries: 0,
      abortSignal: signal,
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
    signal.throwIfAborted();
    if (finish === undefined || finish === "error") throw new Error("the answer broke off");
    const said = await result.responseMessages;
    return { messages: said.filter(({ role }) => role === "assistant"), calls, finish, usage };
  } catch (error) {
    // The library's own error does not contain the reason of the abort.
    throw signal.aborted ? signal.reason : error;
  } finally {
    // Ends the request if the stream was not read to its end.
    giveUp.abort();
  }
}

type Library = Pick<typeof AiLibrary, "tool" | "jsonSchema">;

/** Marks the end of the prefix that Anthropic caches. */
const CACHED = { anthropic: { cacheControl: { type: "ephemeral" } } };

/**
 * Marks the end of the conversation, and where the last request ended: Anthropic looks back only twenty
 * blocks from a mark, and one answer may have more calls.
 */
function withCacheMark(messages: readonly ModelMessage[]): ModelMessage[] {
  const before = messages.findLastIndex(({ role }) => role === "assistant") - 1;
  return messages.map((message, index) => {
    const isMarked = index === messages.length - 1 || index === before;
    return isMarked ? { ...message, providerOptions: CACHED } : message;
  });
}

function toolSet(tools: readonly AgentTool[], { tool, jsonSchema }: Library): ToolSet {
  return Object.fromEntries(
    tools.map(({ name, description: about, inputSchema, example }) => {
      const shown = example === undefined ? "" : ` Example: ${JSON.stringify(example)}`;
      return [name, tool({ description: about + shown, inputSchema: jsonSchema(inputSchema) })];
    }),
  );
}

function callOf(part: TypedToolCall<ToolSet>): ToolCall {
  const { toolCallId: id, toolName: name } = part;
  const args: unknown = part.input;
  if (part.invalid !== true || name === "") return { id, name, args };
  const unread = "The arguments are not valid JSON; repeat the call with complete arguments";
  return { id, name, args, problem: typeof args === "string" ? unread : undefined };
}

/** What a request has used; undefined where the provider does not say. */
export function usageOf(usage: LanguageModelUsage): TokenUsage | undefined {
  const { inputTokens = 0, outputTokens = 0, inputTokenDetails, outputTokenDetails } = usage;
  if (inputTokens === 0 && outputTokens === 0) return undefined;
  return {
    inputTokens,
    outputTokens,
    cachedReadTokens: inputTokenDetails.cacheReadTokens ?? 0,
    cachedWriteTokens: inputTokenDetails.cacheWriteTokens ?? 0,
    thoughtTokens: outputTokenDetails.reasoningTokens ?? 0,
  };
}

/** When a request to a model is retried. */
export interface RetryLimits {
  readonly attempts: number;
  /** Milliseconds before the second attempt; doubles with each attempt. */
  readonly firstWait: number;
  readonly longestWait: number;
  /** Milliseconds without data after which the stream is given up. */
  readonly silence: number;
}

export const RETRY: RetryLimits = {
  attempts: 5,
  firstWait: 1_000,
  longestWait: 60_000,
  silence: 180_000,
};

/** The conversation exceeds the context window. */
export class ContextOverflowError extends Error {
  override readonly name = "ContextOverflowError";
}

/** The provider refuses the conversation; a retry would fail again. */
export class Refusal extends TrunklineError {}

/**
 * Sends a request to a model, and retries it after temporary failures, with a notice each time. Throws
 * `ContextOverflowError`, `Refusal`, or an error that says what failed.
 */
export async function askWithRetry(
  question: ModelQuestion & {
    readonly name: string;
    readonly retry: RetryLimits;
    readonly log: Log;
  },
): Promise<ModelAnswer> {
  const { signal, speaker, retry, name, log } = question;
  const { attempts, firstWait, longestWait } = retry;
  const backoff = new Backoff({ firstWait, longestWait, mostFailures: Infinity, rest: 0 });
  for (;;) {
    let said = "";
    try {
      const heard = (text: string): void => {
        said += text;
        question.said(text);
      };
      return await askModel({ ...question, said: heard });
    } catch (error) {
      signal.throwIfAborted();
      const failure = modelFailure(error);
      log.warn("agent.model-failed", { model: name, kind: failure.kind, says: failure.says });
      if (failure.kind === "overflow") throw new ContextOverflowError(failure.says);
      const wait = Math.max(backoff.failed(), failure.retryAfter ?? 0);
      const canPass = failure.kind === "passing" || failure.kind === "rate";
      if (!canPass || backoff.failures >= attempts || wait > longestWait) {
        throw givenUp(name, failure, backoff.failures);
      }
      const seconds = Math.max(1, Math.round(wait / 1000));
      const next = `Trying again in ${seconds} s (attempt ${backoff.failures + 1} of ${attempts})`;
      const lost = said === "" ? "" : " What it had begun to say does not count.";
      await speaker.notice("warning", `${name} ${failure.says}. ${next}.${lost}`);
      await sleep(wait, undefined, { signal });
    }
  }
}

function givenUp(name: string, failure: ModelFailure, attempts: number): Error {
  const { kind, says, retryAfter } = failure;
  const kept = "What was said and done so far is kept; send 'continue' to go on";
  if (kind === "key") {
    const next = "Check the key (`trunkline model key set`), or choose another model";
    return RpcError.of(ACP.authRequired, `${name} ${says}. ${next}. ${kept}`);
  }
  if (kind === "rate") {
    const when = retryAfter === undefined ? "later" : `in ${Math.ceil(retryAfter / 1000)} s`;
    const data = retryAfter === undefined ? undefined : { retryAfterMs: Math.ceil(retryAfter) };
    return RpcError.of(TRUNKLINE.rateLimited, `${name} ${says}. Try again ${when}. ${kept}`, data);
  }
  if (kind === "final") return new Refusal("unavailable", `${name} ${says}. ${kept}`);
  const often = attempts > 1 ? `, ${attempts} times` : "";
  return new TrunklineError("unavailable", `${name} ${says}${often}. ${kept}`);
}

/** Why a model did not answer, and whether to retry. */
interface ModelFailure {
  /** Predicate of a sentence that starts with the model's name. */
  readonly says: string;
  readonly kind: "passing" | "rate" | "overflow" | "key" | "final";
  /** Milliseconds after which the provider allows a retry. */
  readonly retryAfter?: number;
}

type ProviderError = Partial<
  Omit<AiLibrary.APICallError, "code"> & Pick<AiLibrary.RetryError, "lastError">
> &
  Pick<NodeJS.ErrnoException, "code">;

const OVERFLOW =
  /context.{0,20}(?:length|window|size)|prompt is too long|too many tokens|maximum.{0,20}tokens|exceeds?.{0,30}(?:tokens|context)|input is too long/i;
/** Errors of models without image support; some servers answer them with status 500. */
const BLIND = /\b(?:images?|vision|multi-?modal|mmproj)\b/i;
const QUOTA = /insufficient_quota|credit balance|billing|quota.{0,20}exceeded for/i;

/** Classifies an error of a provider, of its library or of the network. */
export function modelFailure(thrown: unknown): ModelFailure {
  const error = unwrap(thrown);
  const { statusCode } = error;
  const said = saidBy(error);
  if (statusCode === undefined) return withoutStatus(thrown, error, said);
  const says = `answered with status ${statusCode}${said === "" ? "" : `: ${said}`}`;
  const retryAfter = retryAfterOf(error.responseHeaders ?? {});
  const wait = retryAfter === undefined ? {} : { retryAfter };
  if (statusCode === 401 || statusCode === 403) return { kind: "key", says };
  if (statusCode === 413 || (statusCode < 500 && OVERFLOW.test(said))) {
    return { kind: "overflow", says };
  }
  if (statusCode === 402 || QUOTA.test(said) || BLIND.test(said)) return { kind: "final", says };
  if (statusCode === 429) return { kind: "rate", says, ...wait };
  const isPassing = statusCode >= 500 || statusCode === 408 || statusCode === 409;
  // An interrupted stream still has the status 200.
  return { kind: isPassing || statusCode < 300 ? "passing" : "final", says, ...wait };
}

function withoutStatus(thrown: unknown, error: ProviderError, said: string): ModelFailure {
  if (thrown instanceof TrunklineError) return { kind: "passing", says: said };
  if (OVERFLOW.test(said)) return { kind: "overflow", says: `said: ${said}` };
  // The provider's library refuses unsupported content itself.
  if (BLIND.test(said) || /unsupported/i.test(error.name ?? "")) {
    return { kind: "final", says: `does not support that: ${said}` };
  }
  const code = codeOf(error);
  if (code === "ECONNREFUSED" || code === "ENOTFOUND") {
    const says = `cannot be reached (${code}); is it running, is there a network?`;
    return { kind: "passing", says };
  }
  return { kind: "passing", says: `broke off: ${said === "" ? "no reason was given" : said}` };
}

function unwrap(thrown: unknown): ProviderError {
  const error = (
    typeof thrown === "object" && thrown !== null ? thrown : { message: String(thrown) }
  ) as ProviderError;
  return error.lastError === undefined ? error : unwrap(error.lastError);
}

const LONGEST = 500;

function saidBy({ message, responseBody, cause }: ProviderError): string {
  const inner = cause instanceof Error && cause.message !== message ? ` (${cause.message})` : "";
  const own = `${message ?? ""}${inner}`.trim();
  const text = own === "" ? (responseBody ?? "") : own;
  return maskText(text.replaceAll(/\s+/g, " ")).slice(0, LONGEST);
}

function codeOf(error: ProviderError): string | undefined {
  if (error.code !== undefined) return error.code;
  return error.cause === undefined ? undefined : codeOf(unwrap(error.cause));
}

function retryAfterOf(headers: Readonly<Record<string, string>>): number | undefined {
  const milliseconds = Number(headers["retry-after-ms"]);
  if (milliseconds > 0) return milliseconds;
  const after = headers["retry-after"];
  if (after === undefined) return undefined;
  const seconds = Number(after);
  const wait = Number.isNaN(seconds) ? Date.parse(after) - Date.now() : seconds * 1000;
  return wait > 0 ? wait : undefined;
}

/** Most questions for one request to a model: a client that allows everything would retry without end. */
const MOST_QUESTIONS = 3;

/**
 * Asks a model. If its key is refused, such as one that has expired, the person is asked whether to try
 * again with the key that is stored then, so that the turn is not lost. If they decline, this throws the error.
 */
export async function withValidKey<T>(
  turn: Pick<Turn, "requestPermission">,
  model: string,
  ask: () => Promise<T>,
  renew: () => Promise<void>,
): Promise<T> {
  for (let left = MOST_QUESTIONS; ; left--) {
    try {
      return await ask();
    } catch (error) {
      const isRefused = error instanceof RpcError && error.code === ACP.authRequired.code;
      if (!isRefused || left === 0 || !(await mayRetry(turn, model, error))) throw error;
      await renew();
    }
  }
}

async function mayRetry(
  turn: Pick<Turn, "requestPermission">,
  model: string,
  { message }: Error,
): Promise<boolean> {
  const next =
    "Log in again or store another key (`trunkline model key set NAME`), then choose to try again.";
  const outcome = await turn.requestPermission({
    toolCall: {
      toolCallId: crypto.randomUUID(),
      title: `${model} refused the key. Try again?`,
      kind: "other",
      status: "pending",
      content: [textContent(`${message}\n\n${next}`)],
    },
    options: [
      { optionId: "retry", name: "Try again with the key that is stored now", kind: "allow_once" },
      { optionId: "stop", name: "Stop", kind: "reject_once" },
    ],
  });
  return outcome.outcome === "selected" && outcome.kind === "allow_once";
}
