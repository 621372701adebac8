import type { ModelMessage } from "ai";
import { TrunklineError } from "../../base/errors.ts";
import type { StopReason, Turn, TurnEnd } from "../../session/agent.ts";
import type { ThinkingLevel } from "../models/models.ts";
import type { ToolAnswer } from "../tools/agent-tool.ts";
import type { ToolCall, ToolRunner } from "../tools/tool-runner.ts";
import {
  askWithRetry,
  type ModelAnswer,
  ContextOverflowError,
  Refusal,
  type RetryLimits,
  type TokenUsage,
  withValidKey,
} from "./ask-model.ts";
import {
  compactConversation,
  type CompactionOptions,
  type PromptParts,
  withoutImages,
} from "./compact.ts";
import { promptMessage } from "./instructions.ts";
import { untilContinued } from "./until-continued.ts";

export interface TurnOptions extends Omit<CompactionOptions, "why"> {
  /** What the model is asked: the turn's prompt, or the text that a command stands for. */
  readonly prompt: Turn["prompt"];
  /** Reads the keys of providers again. Returns the model with the key that is stored now. */
  readonly renew?: () => Promise<TurnOptions["model"] | undefined>;
  readonly instructions: () => PromptParts;
  /** Names the session for the provider's cache. */
  readonly cacheKey?: string | undefined;
  readonly runner: ToolRunner;
  /** What becomes of a steering prompt by hooks; undefined if they do not allow it. */
  readonly prompted?:
    | ((steering: Turn["prompt"]) => Promise<Turn["prompt"] | undefined>)
    | undefined;
  /** Asked when the model is done: what it is told if it has to go on. */
  readonly goesOn?: (() => Promise<string | undefined>) | undefined;
  readonly retry: RetryLimits;
  readonly thinking: ThinkingLevel;
  /** Requests to the model that are left in the turn, which subagents share. */
  readonly steps: { left: number; readonly most: number };
}

/** Share of the context window above which the conversation is compacted. */
const FULL = 0.85;
/** Conversations with fewer messages are not compacted. */
const FEWEST = 4;

/** One turn with a model: it is asked, and its tool calls are run, until it is done (ACP prompt-turn). */
export class TurnRun {
  readonly #options: TurnOptions;
  #open: TurnOptions["model"]["open"];

  constructor(options: TurnOptions) {
    this.#options = options;
    this.#open = options.model.open;
  }

  async run(): Promise<TurnEnd> {
    const { turn, prompt, conversation, usage } = this.#options;
    conversation.add(promptMessage(prompt));
    try {
      return usage.end(await this.#steps());
    } catch (error) {
      if (turn.signal.aborted) return usage.end("cancelled");
      throw error;
    }
  }

  async #steps(): Promise<StopReason> {
    const { conversation, steps, speaker, turn, runner } = this.#options;
    const repetition = new Repetition();
    let wasEmpty = false;
    while (steps.left > 0) {
      await untilContinued(turn);
      steps.left--;
      await this.#steer();
      if (runner.isStopped) return "end_turn";
      const answer = await this.#ask();
      if (isEmpty(answer)) {
        await this.#count(answer.usage);
        // A provider may refuse a conversation with an empty message, so it is not added.
        if (wasEmpty) throw emptyAnswer(this.#options.model.id);
        wasEmpty = true;
        const says = `${this.#options.model.id} gave an empty answer; it is asked once more`;
        await speaker.notice("warning", says);
        continue;
      }
      conversation.add(...answer.messages);
      await this.#count(answer.usage);
      if (answer.calls.length === 0) {
        if (await this.#steer()) continue;
        if (runner.isStopped) return "end_turn";
        const end = stopReasonOf(answer.finish);
        const more = end === "end_turn" ? await this.#options.goesOn?.() : undefined;
        if (more === undefined) return end;
        conversation.add({ role: "user", content: more });
        continue;
      }
      await this.#callAll(answer, repetition);
      turn.signal.throwIfAborted();
      if (runner.isStopped) return "end_turn";
      if (repetition.isEndless) {
        await speaker.notice("warning", "Stopped: the model asks for the same again and again");
        return "max_turn_requests";
      }
    }
    const says = `Stopped after ${steps.most} answers of the model; send 'continue' to go on`;
    await speaker.notice("warning", says);
    return "max_turn_requests";
  }

  /** Asks the model, without images if it refuses them. */
  async #ask(): Promise<ModelAnswer> {
    return await this.#askFitting().catch(async (error: unknown) => {
      if (!(error instanceof Refusal) || this.#options.turn.signal.aborted) throw error;
      return await this.#askBlind(error);
    });
  }

  /**
   * A refused image would make every later request fail. The newest images are removed first; if that
   * does not help, all stay.
   */
  async #askBlind(refusal: Error): Promise<ModelAnswer> {
    const { conversation, model, speaker } = this.#options;
    const { messages } = conversation;
    const note = `(Here was an image, which ${model.id} does not take.)`;
    const newest = messages.findLastIndex(({ role }) => role === "assistant") + 1;
    for (const from of newest === 0 ? [0] : [newest, 0]) {
      const bare = withoutImages(messages, from, note);
      if (bare === undefined) continue;
      conversation.replace(bare);
      try {
        const answer = await this.#askValid();
        const says = `${model.id} did not take an image, so it answers without it`;
        await speaker.notice("warning", says, refusal.message);
        return answer;
      } catch (error) {
        conversation.replace(messages);
        if (!(error instanceof Refusal || error instanceof ContextOverflowError)) throw error;
      }
    }
    throw refusal;
  }

  /** Asks the model. Compacts the conversation when it nearly fills the window, or overflows. */
  async #askFitting(): Promise<ModelAnswer> {
    const { conversation, model } = this.#options;
    const isFull = conversation.size > model.contextWindow * FULL;
    if (isFull && conversation.messages.length > FEWEST) await this.#compact();
    try {
      return await this.#askValid();
    } catch (error) {
      if (!(error instanceof ContextOverflowError)) throw error;
      await this.#compact();
      return await this.#askValid().catch((second: unknown) => {
        throw second instanceof ContextOverflowError ? tooLong(model.id, second) : second;
      });
    }
  }

  #askValid(): Promise<ModelAnswer> {
    const { turn, model, renew } = this.#options;
    const renewKey = async (): Promise<void> => {
      this.#open = (await renew?.())?.open ?? this.#open;
    };
    return withValidKey(turn, model.id, () => this.#askOnce(), renewKey);
  }

  async #askOnce(): Promise<ModelAnswer> {
    const { model, conversation, runner, speaker, turn, retry, log } = this.#options;
    const { system, note } = conversation.prompt.tell(this.#options.instructions());
    if (note !== undefined) conversation.add({ role: "user", content: note });
    let said = "";
    try {
      return await askWithRetry({
        name: model.id,
        model: await this.#open(),
        instructions: system,
        cacheKey: model.takesCacheKey === true ? this.#options.cacheKey : undefined,
        messages: conversation.messages,
        tools: conversation.prompt.tools(runner.offered(), runner.tools),
        thinking: this.#options.thinking,
        speaker,
        signal: turn.signal,
        silence: retry.silence,
        retry,
        log,
        said: (text) => (said += text),
      });
    } catch (error) {
      // The model is told the part of a cancelled answer that the person has read.
      const partial: ModelMessage = { role: "assistant", content: said };
      if (turn.signal.aborted && said.trim() !== "") conversation.add(partial);
      throw error;
    }
  }

  async #callAll({ calls }: ModelAnswer, repetition: Repetition): Promise<void> {
    const { runner, conversation } = this.#options;
    const answers = new Map<string, ToolAnswer>();
    try {
      for await (const [call, answer] of runner.callAll(calls)) {
        answers.set(call.id, repetition.note(call, answer));
      }
    } finally {
      conversation.addAnswers(calls, answers);
      runner.answered();
    }
  }

  /** Adds steering prompts to the conversation. */
  async #steer(): Promise<boolean> {
    const { turn, conversation, prompted } = this.#options;
    let isSteered = false;
    for (;;) {
      const steering = turn.steering?.();
      if (steering === undefined) return isSteered;
      const prompt = prompted === undefined ? steering : await prompted(steering);
      if (prompt === undefined) continue;
      conversation.add(promptMessage(prompt));
      isSteered = true;
    }
  }

  async #compact(): Promise<void> {
    const why = `The conversation had become too long for ${this.#options.model.id}`;
    await compactConversation({ ...this.#options, why });
  }

  async #count(used: TokenUsage | undefined): Promise<void> {
    const { conversation, usage, model } = this.#options;
    if (used !== undefined) conversation.counted(used);
    await usage.spent(model, used);
  }
}

/** Nothing was said and nothing is to be done, though the model could have gone on. */
function isEmpty({ messages, calls, finish }: ModelAnswer): boolean {
  if (calls.length > 0 || finish === "length" || finish === "content-filter") return false;
  return messages.every(({ content }) => {
    if (typeof content === "string") return content.trim() === "";
    return content.every((part) => part.type === "reasoning" || isBlank(part));
  });
}

function isBlank(part: { readonly type: string; readonly text?: string }): boolean {
  return part.type === "text" && (part.text ?? "").trim() === "";
}

function emptyAnswer(model: string): TrunklineError {
  const kept = "What was said and done so far is kept; send 'continue' to go on";
  const says = `${model} gave an empty answer twice. ${kept}, or choose another model`;
  return new TrunklineError("unavailable", says);
}

function tooLong(model: string, { message }: ContextOverflowError): Refusal {
  const says = `The conversation does not fit into the context of ${model}, even shortened: it ${message}`;
  const next = "Choose a model with a larger context, attach less, or begin a new session";
  return new Refusal("usage", `${says}. ${next}`);
}

function stopReasonOf(finish: string): StopReason {
  if (finish === "length") return "max_tokens";
  return finish === "content-filter" ? "refusal" : "end_turn";
}

/** Number of equal calls with equal answers in a row. */
const WARNED = 3;
const MOST = 6;

/** Detects a model that repeats the same call. */
export class Repetition {
  #last = "";
  #count = 0;

  /** Counts an answer, and adds a warning for the model if it repeats. */
  note(call: ToolCall, answer: ToolAnswer): ToolAnswer {
    const sign = JSON.stringify([call.name, call.args, answer.text]);
    this.#count = sign === this.#last ? this.#count + 1 : 1;
    this.#last = sign;
    if (this.#count < WARNED) return answer;
    const says = `(This is the same answer to the same call for the ${this.#count}th time. Do something else.)`;
    return { ...answer, text: `${answer.text}\n${says}` };
  }

  get isEndless(): boolean {
    return this.#count >= MOST;
  }
}
