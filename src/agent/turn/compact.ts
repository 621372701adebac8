import type { LanguageModel, ModelMessage } from "ai";

import type { Stop } from "../../base/stop.ts";
import { BoundedText } from "../files/read-bounded.ts";
import { summaryMessage } from "./history-messages.ts";
import { isImage } from "./without-images.ts";

/** A rough estimate that rather counts too many tokens. */
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

export interface Compaction {
  readonly messages: ModelMessage[];
  readonly summary: string;
  /** The model wrote the summary; otherwise it is a list of prompts and calls. */
  readonly isWritten: boolean;
}

export interface CompactOptions {
  readonly model: LanguageModel;
  readonly window: number;
  readonly stop: Stop;
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

/** Compacts a conversation: older messages become a summary, recent ones stay. */
export async function compact(
  messages: readonly ModelMessage[],
  { model, window, stop }: CompactOptions,
): Promise<Compaction> {
  const from = keptFrom(messages, window * KEPT);
  const older = messages.slice(0, from);
  const newer = messages.slice(from).map(withShortOutputs);
  const written = await write(older, { model, window, stop }).catch(() => undefined);
  stop.signal.throwIfAborted();
  const summary = written ?? listed(older);
  return {
    messages: [summaryMessage(summary), ...newer],
    summary,
    isWritten: written !== undefined,
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

async function write(
  older: readonly ModelMessage[],
  { model, window, stop }: CompactOptions,
): Promise<string | undefined> {
  if (older.length === 0) return undefined;
  const { generateText } = await import("ai");
  const transcript = new BoundedText(Math.floor(window * 0.5 * CHARACTERS_PER_TOKEN));
  for (const message of older) transcript.add(`${spoken(message)}\n\n`);
  const { text } = await generateText({
    model,
    instructions: INSTRUCTIONS,
    prompt: transcript.settle().text,
    maxRetries: 1,
    abortSignal: AbortSignal.any([stop.signal, AbortSignal.timeout(120_000)]),
  });
  return text.trim() === "" ? undefined : text.trim();
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
