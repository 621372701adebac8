import type { Amounts } from "../../base/limit/budget.ts";
import type { SessionUpdate } from "../agent.ts";

/** Counts what a turn uses, from the reports of its agent. Time is counted by the meter. */
export class UsageCounter {
  readonly #tools = new Set<unknown>();
  #requests = 0;
  /** Tokens of the requests before the last one. */
  #tokensBefore = 0;
  #tokensOfLast = 0;
  #hasToolEnded = false;
  /** Tokens of the whole turn, if the agent reports them. */
  #tokensOfTurn = 0;
  #cost = 0;
  #reportedCost: number | undefined;

  /** `reportedCost` is the cost of the session that the agent last reported in earlier turns. */
  constructor(reportedCost?: number) {
    this.#reportedCost = reportedCost;
  }

  get used(): Omit<Amounts, "time"> {
    return {
      tokens: Math.max(this.#tokensBefore + this.#tokensOfLast, this.#tokensOfTurn),
      cost: this.#cost,
      steps: this.#tools.size + this.#requests,
    };
  }

  get reportedCost(): number | undefined {
    return this.#reportedCost;
  }

  /** Whether the update changed what is counted. */
  saw(update: SessionUpdate): boolean {
    switch (update.sessionUpdate) {
      case "tool_call": {
        const { size } = this.#tools;
        this.#tools.add(update.toolCallId);
        return this.#tools.size > size;
      }
      case "tool_call_update":
        if (update.status === "completed" || update.status === "failed") this.#hasToolEnded = true;
        return false;
      case "usage_update":
        this.#sawUsage(update);
        return true;
      default:
        return false;
    }
  }

  /**
   * ACP § PromptResponse: `usage` is that of this turn. It is exact, so it replaces the estimate from the
   * updates.
   */
  ended(usage: Readonly<Record<string, unknown>> | undefined): void {
    const total = numberIn(usage?.totalTokens);
    if (total === undefined) return;
    this.#tokensBefore = this.#tokensOfLast = 0;
    this.#tokensOfTurn = total;
  }

  /** ACP § UsageUpdate: `used` is the size of the context, and `cost` the cost of the session so far. */
  #sawUsage({ used, cost, _meta }: SessionUpdate): void {
    const { turnTokens } = ((_meta as { trunkline?: object } | undefined)?.trunkline ?? {}) as {
      turnTokens?: unknown;
    };
    const exact = numberIn(turnTokens);
    if (exact !== undefined) {
      this.#requests++;
      this.#tokensOfTurn = Math.max(this.#tokensOfTurn, exact);
    } else this.#sawContext(numberIn(used) ?? 0);
    const { amount } = (cost ?? {}) as { amount?: unknown };
    const reported = numberIn(amount);
    if (reported === undefined) return;
    const before = this.#reportedCost ?? 0;
    // A restarted agent may count from zero.
    this.#cost += reported >= before ? reported - before : reported;
    this.#reportedCost = reported;
  }

  /**
   * A request to a model reads the whole context and adds its answer, so it uses as many tokens as the
   * context has afterwards. Agents may report this several times for one request; a report after the end
   * of a tool call belongs to the next request.
   */
  #sawContext(used: number): void {
    if (this.#hasToolEnded) {
      this.#tokensBefore += this.#tokensOfLast;
      this.#tokensOfLast = 0;
      this.#hasToolEnded = false;
    }
    this.#tokensOfLast = Math.max(this.#tokensOfLast, used);
  }
}

function numberIn(value: unknown): number | undefined {
  return typeof value === "number" && Number.isFinite(value) && value >= 0 ? value : undefined;
}
