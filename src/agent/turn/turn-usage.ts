import type { StopReason, TurnEnd } from "../../session/agent.ts";
import type { ModelEntry } from "../models/models.ts";
import type { TokenUsage } from "./ask-model.ts";
import type { Conversation } from "./compact.ts";
import type { Speaker } from "./speaker.ts";

/** What one turn has used of models: by its answers, by subagents, by summaries and other texts. */
export class TurnUsage {
  readonly #conversation: Conversation;
  readonly #speaker: Speaker;
  readonly #used = {
    inputTokens: 0,
    outputTokens: 0,
    cachedReadTokens: 0,
    cachedWriteTokens: 0,
    thoughtTokens: 0,
  };

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
      this.#used.inputTokens += usage.inputTokens;
      this.#used.outputTokens += usage.outputTokens;
      this.#used.cachedReadTokens += usage.cachedReadTokens;
      this.#used.cachedWriteTokens += usage.cachedWriteTokens;
      this.#used.thoughtTokens += usage.thoughtTokens;
    }
    const { size, cost } = this.#conversation;
    await this.#speaker.usage({ used: size, size: contextWindow, turnTokens: this.#total, cost });
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
