import type { LanguageModel, ModelMessage, ToolResultPart, UserContent } from "ai";

import type { Log } from "../../base/log.ts";
import type { StopReason, Turn, TurnEnd } from "../../session/agent.ts";
import { BoundedText } from "../files/read-bounded.ts";
import type { ModelEntry } from "../models/models.ts";
import type { ModelCost } from "../../config/schema/schema.gen.ts";
import type { AgentTool, ToolAnswer } from "../tools/agent-tool.ts";
import type { ToolCall } from "../tools/tool-runner.ts";
import { NO_TOKENS, type TokenUsage, usageOf } from "./ask-model.ts";
import { summaryMessage } from "./history-messages.ts";
import type { Speaker } from "./speaker.ts";
import { SUMMARY } from "../../session/turn/replay.ts";

/** A rough estimate, on the high side. */
const CHARACTERS_PER_TOKEN = 3.5;
const LONGEST_OUTPUT = 4_000;
/** Providers scale images down to about as many, however large their data is. */
const IMAGE_TOKENS = 1_600;
/** Share of the context window for recent messages that are kept. */
const KEPT = 0.25;

const INSTRUCTIONS =
  "Shorten this conversation between a person and a coding agent for the agent, which will go on " +
  "without it. Keep: what the person wants, in their words; what was decided and why; files and " +
  "what was done to them; commands and how they ended; what is left to do. Leave out what is of " +
  "no use any more. Write plain text.";

interface CompactOptions {
  readonly model: LanguageModel;
  readonly window: number;
  readonly signal: AbortSignal;
}

export function tokensOf(messages: readonly ModelMessage[]): number {
  let size = 0;
  const images = (_: string, value: unknown): unknown => {
    if (!isImage(value)) return value;
    size += IMAGE_TOKENS * CHARACTERS_PER_TOKEN;
    return undefined;
  };
  for (const { content } of messages) {
    const text = JSON.stringify(content, images);
    size += text.length;
  }
  return Math.ceil(size / CHARACTERS_PER_TOKEN);
}

/**
 * Compacts a conversation: older messages become a summary, recent ones stay. The summary is a list of prompts
 * and calls unless the model wrote it.
 */
export async function compact(messages: readonly ModelMessage[], options: CompactOptions) {
  const from = keptFrom(messages, options.window * KEPT);
  const older = messages.slice(0, from);
  const newer = messages.slice(from).map(withShortOutputs);
  const written = await write(older, options).catch(() => undefined);
  options.signal.throwIfAborted();
  const summary = written?.text ?? listed(older);
  return {
    messages: [summaryMessage(summary), ...newer],
    summary,
    isWritten: written?.text !== undefined,
    usage: written?.usage,
  };
}

/**
 * Index of the first message that is kept: never between a call and its answer, in the second half, and
 * not after the last group of messages.
 */
function keptFrom(messages: readonly ModelMessage[], most: number): number {
  const isStart = (index: number): boolean => messages[index]?.role !== "tool";
  let from = Math.max(0, messages.length - 1);
  while (from > 0 && !isStart(from)) from--;
  let size = tokensOf(messages.slice(from).map(withShortOutputs));
  for (let index = from - 1; index >= messages.length / 2; index--) {
    size += tokensOf(messages.slice(index, index + 1).map(withShortOutputs));
    if (size > most) break;
    if (isStart(index)) from = index;
  }
  return from;
}

async function write(older: readonly ModelMessage[], { model, window, signal }: CompactOptions) {
  if (older.length === 0) return { text: undefined, usage: undefined };
  const transcript = new BoundedText(Math.floor(window * 0.5 * CHARACTERS_PER_TOKEN));
  for (const message of older) transcript.add(`${spoken(message)}\n\n`);
  return writtenBy(model, INSTRUCTIONS, transcript.settle().text, signal);
}

/** A text that a model writes outside of the conversation; undefined if it says nothing. */
export async function writtenBy(
  model: LanguageModel,
  instructions: string,
  prompt: string,
  signal: AbortSignal,
): Promise<{ readonly text: string | undefined; readonly usage: TokenUsage | undefined }> {
  const { generateText } = await import("ai");
  const abortSignal = AbortSignal.any([signal, AbortSignal.timeout(120_000)]);
  const options = { model, instructions, prompt, maxRetries: 1, abortSignal };
  const { text, usage } = await generateText(options);
  return { text: text.trim() || undefined, usage: usageOf(usage) };
}

function spoken(message: ModelMessage): string {
  const { role, content } = withShortOutputs(message);
  const parts = content as string | readonly Readonly<Record<string, unknown>>[];
  const text = typeof parts === "string" ? parts : parts.map(partText).join("\n");
  return `${role}: ${text}`;
}

function partText(part: Readonly<Record<string, unknown>>): string {
  const { type, text, toolName, input, output } = part;
  if (type === "text") return String(text);
  if (type === "tool-call") return `(calls ${String(toolName)} ${JSON.stringify(input)})`;
  if (type === "tool-result") return `(${String(toolName)} answers ${JSON.stringify(output)})`;
  return "";
}

/** A summary without a model: the prompts and the calls. */
function listed(older: readonly ModelMessage[]): string {
  const lines = older.flatMap((message) => {
    if (message.role === "user") return [`The person said: ${spoken(message).slice(6, 600)}`];
    if (message.role !== "assistant" || typeof message.content === "string") return [];
    return message.content.flatMap((part) => {
      if (part.type !== "tool-call") return [];
      return [`You called ${part.toolName} ${JSON.stringify(part.input).slice(0, 200)}`];
    });
  });
  return lines.slice(-200).join("\n");
}

/** Shortens tool outputs, which fill most of a conversation and can be requested again. */
function withShortOutputs(message: ModelMessage): ModelMessage {
  if (message.role !== "tool") return message;
  const content = message.content.map((part) => {
    if (part.type !== "tool-result") return part;
    const { output } = part;
    const isText = output.type === "text" || output.type === "error-text";
    if (!isText) return { ...part, output: { type: "text" as const, value: "(Left out.)" } };
    if (output.value.length <= LONGEST_OUTPUT) return part;
    const short = new BoundedText(LONGEST_OUTPUT);
    short.add(output.value);
    return { ...part, output: { ...output, value: short.settle().text } };
  });
  return { ...message, content };
}

export interface CompactionOptions {
  readonly turn: Turn;
  readonly model: ModelEntry & { readonly open: NonNullable<ModelEntry["open"]> };
  readonly conversation: Conversation;
  readonly speaker: Speaker;
  /** What the turn has used, which subagents share. */
  readonly usage: TurnUsage;
  readonly log: Log;
  /** The sentence that says why; what was done follows. */
  readonly why: string;
}

/** Replaces the beginning of a conversation by a summary, and tells the client. */
export async function compactConversation(options: CompactionOptions): Promise<void> {
  const { conversation, model, speaker, turn, log, why } = options;
  const compactionId = crypto.randomUUID();
  const before = conversation.size;
  const sessionUpdate = "compaction_update";
  const { client } = turn;
  if (client.compaction)
    await speaker.update({ sessionUpdate, compactionId, status: "in_progress" });
  const { contextWindow: window } = model;
  const written = { model: await model.open(), window, signal: turn.signal };
  const { messages, summary, isWritten, usage } = await compact(conversation.messages, written);
  conversation.replace(messages);
  await options.usage.spent(model, usage);
  const after = conversation.size;
  log.info("agent.compacted", { before, after, isWritten });
  const how = isWritten ? "a summary" : "a list of what was asked and done";
  const says = `${why}; its beginning was replaced by ${how} (about ${before} → ${after} tokens)`;
  if (client.compaction) {
    const content = [{ type: "text", text: summary }];
    await speaker.update({ sessionUpdate, compactionId, status: "completed", summary: content });
    await speaker.notice("info", says);
  } else await speaker.aside(says, { [SUMMARY]: summary });
}

/** The messages between a person and a model, as they are sent to the provider. */
export class Conversation {
  #messages: ModelMessage[];
  /** The provider's last count of tokens, and the number of messages it was for. */
  #counted = { tokens: 0, messages: 0 };
  /** US dollars since the session was opened; undefined if no model that was used has a price. */
  cost: number | undefined;
  /** What the provider is sent before the messages. */
  readonly prompt = new SystemPrompt();

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
    // Many providers take images from the person only.
    const images = calls.flatMap((call) => imageParts(call, answers.get(call.id)));
    if (images.length > 0) this.#messages.push({ role: "user", content: images });
  }

  counted({ inputTokens, outputTokens }: TokenUsage): void {
    this.#counted = { tokens: inputTokens + outputTokens, messages: this.#messages.length };
  }

  spent(usage: TokenUsage, price: ModelCost): void {
    const { inputTokens, outputTokens, cachedReadTokens: read, cachedWriteTokens: written } = usage;
    // Anthropic, which is the one that counts what it writes to its cache, takes a quarter more for it.
    const { input, output, cachedInput = input, cacheWrite = 1.25 * input } = price;
    const fresh = Math.max(0, inputTokens - read - written) * input;
    const sum = fresh + read * cachedInput + written * cacheWrite + outputTokens * output;
    this.cost = (this.cost ?? 0) + sum / 1_000_000;
  }

  replace(messages: readonly ModelMessage[]): void {
    this.#messages = [...messages];
    this.#counted = { tokens: 0, messages: 0 };
    this.prompt.reset();
  }
}

function resultPart({ id, name }: ToolCall, answer: ToolAnswer): ToolResultPart {
  const base = { type: "tool-result", toolCallId: id, toolName: name } as const;
  const { text, isError = false } = answer;
  const value = text === "" ? "(Nothing.)" : text;
  return { ...base, output: { type: isError ? "error-text" : "text", value } };
}

function imageParts({ name }: ToolCall, answer: ToolAnswer | undefined): UserPart[] {
  const images = answer?.images ?? [];
  if (images.length === 0) return [];
  const files = images.map(({ data, mimeType }) => {
    return { type: "file", data, mediaType: mimeType } as const;
  });
  return [{ type: "text", text: `(What ${name} has shown:)` }, ...files];
}

type UserPart = Exclude<UserContent, string>[number];

/**
 * Replaces each image by a note, in the messages from `from` on. Undefined if there is no image.
 */
export function withoutImages(
  messages: readonly ModelMessage[],
  from: number,
  note: string,
): ModelMessage[] | undefined {
  let count = 0;
  const replace = <P extends object>(part: P): P | { type: "text"; text: string } => {
    if (!isImage(part)) return part;
    count++;
    return { type: "text", text: note };
  };
  const replaced = messages.map((message, index): ModelMessage => {
    if (index < from || typeof message.content === "string") return message;
    return message.role === "user"
      ? { ...message, content: message.content.map(replace) }
      : message;
  });
  return count === 0 ? undefined : replaced;
}

/** Images are the only files in conversations. */
function isImage(part: unknown): boolean {
  return typeof part === "object" && part !== null && "type" in part && part.type === "file";
}

/** What one turn has used of models: by its answers, by subagents, by summaries and other texts. */
export class TurnUsage {
  readonly #conversation: Conversation;
  readonly #speaker: Speaker;
  readonly #used = { ...NO_TOKENS };

  /** The conversation is that of the session, also for what subagents use. */
  constructor(conversation: Conversation, speaker: Speaker) {
    this.#conversation = conversation;
    this.#speaker = speaker;
  }

  /** Counts a request to a model, and tells the client and the budget. */
  async spent(
    { cost: price, contextWindow }: Pick<ModelEntry, "cost" | "contextWindow">,
    usage: TokenUsage | undefined,
  ): Promise<void> {
    if (usage !== undefined) {
      if (price !== undefined) this.#conversation.spent(usage, price);
      for (const kind of Object.keys(NO_TOKENS) as (keyof TokenUsage)[]) {
        this.#used[kind] += usage[kind];
      }
    }
    const { size, cost } = this.#conversation;
    await this.#speaker.usage({ used: size, size: contextWindow }, this.#total, cost);
  }

  /** The end of the turn, with what it has used. */
  end(stopReason: StopReason): TurnEnd {
    if (this.#total === 0) return { stopReason };
    return { stopReason, usage: { ...this.#used, totalTokens: this.#total } };
  }

  get #total(): number {
    return this.#used.inputTokens + this.#used.outputTokens;
  }
}

/** What a model is told beside the conversation, by subject. An empty text says nothing. */
export type PromptParts = Readonly<Record<string, string>>;

/**
 * The beginning of every request of one conversation: tools and system prompt. Providers cache requests
 * by their beginning, so it stays as it was. What changes later is told in a message, and tools are only
 * added at the end: one that a mode does not allow is refused when it is called.
 */
class SystemPrompt {
  #system: string | undefined;
  #told: PromptParts = {};
  readonly #offered = new Set<string>();

  /** The system prompt, and what has changed since the model was last told; undefined if nothing has. */
  tell(parts: PromptParts): { readonly system: string; readonly note: string | undefined } {
    const told = this.#told;
    this.#told = parts;
    if (this.#system === undefined) {
      this.#system = Object.values(parts)
        .filter((text) => text !== "")
        .join("\n\n");
      return { system: this.#system, note: undefined };
    }
    const notes = Object.entries(parts).flatMap(([name, text]) => {
      return text === told[name] ? [] : [changeOf(name, told[name] ?? "", text)];
    });
    const note = notes.length === 0 ? undefined : `(${notes.join("\n\n")})`;
    return { system: this.#system, note };
  }

  /**
   * The tools of a request: those of earlier ones, in their order, and then the new ones. Only one that
   * is gone, or that the person who prompts now may not call, is left out.
   */
  tools(offered: readonly AgentTool[], all: ReadonlyMap<string, AgentTool>): readonly AgentTool[] {
    for (const { name } of offered) this.#offered.add(name);
    return [...this.#offered].flatMap((name) => all.get(name) ?? []);
  }

  /** The conversation begins anew, and with it the cache. */
  reset(): void {
    this.#system = undefined;
  }
}

function changeOf(name: string, before: string, now: string): string {
  if (now === "") return `What you were told about this does not hold any more: ${name}.`;
  if (before !== "" && now.startsWith(before)) return now.slice(before.length).trim();
  return before === "" ? now.trim() : `This has changed (${name}):\n${now.trim()}`;
}
