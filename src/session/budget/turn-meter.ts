import { background } from "../../base/background.ts";
import {
  type Amount,
  type Amounts,
  AMOUNTS,
  type Budget,
  NOTHING_USED,
  plus,
  shareText,
  usedUp,
} from "../../base/limit/budget.ts";
import type { SessionUpdate, StopReason, TurnEnd } from "../agent.ts";
import { subagentOf } from "../subagent.ts";
import { TrunklineError } from "../../base/errors.ts";

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
  /** The cost of the session that the agent last reported, also in earlier turns. */
  reportedCost: number | undefined;

  constructor(reportedCost?: number) {
    this.reportedCost = reportedCost;
  }

  get used(): Omit<Amounts, "time"> {
    return {
      tokens: Math.max(this.#tokensBefore + this.#tokensOfLast, this.#tokensOfTurn),
      cost: this.#cost,
      steps: this.#tools.size + this.#requests,
    };
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
        // The usage of a subagent is included in that of the session.
        if (subagentOf(update) !== undefined) return false;
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
  ended(usage: TurnEnd["usage"]): void {
    const total = numberIn(usage?.totalTokens);
    if (total === undefined) return;
    this.#tokensBefore = this.#tokensOfLast = 0;
    this.#tokensOfTurn = total;
  }

  /** ACP § UsageUpdate: `used` is the size of the context, and `cost` the cost of the session so far. */
  #sawUsage({ used, cost, _meta }: SessionUpdate): void {
    const { trunkline } = (_meta ?? {}) as {
      readonly trunkline?: { readonly turnTokens?: unknown };
    };
    const exact = numberIn(trunkline?.turnTokens);
    if (exact !== undefined) {
      this.#requests++;
      this.#tokensOfTurn = Math.max(this.#tokensOfTurn, exact);
    } else this.#sawContext(numberIn(used) ?? 0);
    const { amount } = (cost ?? {}) as { amount?: unknown };
    const reported = numberIn(amount);
    if (reported === undefined) return;
    const before = this.reportedCost ?? 0;
    // A restarted agent may count from zero.
    this.#cost += reported >= before ? reported - before : reported;
    this.reportedCost = reported;
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

export interface TurnMeterOptions {
  readonly allowances: readonly Allowance[];
  /** The cost of the session that the agent reported in earlier turns. */
  readonly reportedCost: number | undefined;
  /** When the day's budget resets. */
  readonly resets: string;
  /** Stores what was used so far and the reported cost, and updates the allowances. Never throws. */
  readonly note: (used: Amounts, cost: number | undefined, isOver: boolean) => Promise<void>;
  /** Milliseconds between two records of a running turn. */
  readonly noteEvery: number;
}

/** Measures what one turn uses, and says when a budget is used up. */
export class TurnMeter {
  readonly #options: TurnMeterOptions;
  readonly #counter: UsageCounter;
  #listener: Parameters<TurnMeter["begin"]>[0] | undefined;
  #seconds = 0;
  /** When the clock was last started; undefined while it is paused. */
  #since: number | undefined;
  #pauses = 0;
  #timer: NodeJS.Timeout | undefined;
  #checked: Amounts = NOTHING_USED;
  #isSpent = false;
  /** More is being reserved. */
  #isAsking = false;

  constructor(options: TurnMeterOptions) {
    refuseSpent(options.allowances);
    this.#options = options;
    this.#counter = new UsageCounter(options.reportedCost);
  }

  get used(): Amounts {
    return { ...this.#counter.used, time: this.#time };
  }

  /** Calls `spent` once, when a budget is used up, and `warned` when one nearly is. */
  begin(listener: { spent(spent: Overspend): void; warned(words: string): void }): void {
    this.#listener = listener;
    this.#since = performance.now();
    this.#wait();
  }

  saw(update: SessionUpdate): void {
    if (this.#counter.saw(update)) this.#check();
  }

  /** Pauses the clock until `resume`: time in which a person is asked, or a turn is queued, does not count. */
  pause(): void {
    if (this.#pauses++ > 0) return;
    this.#seconds = this.#time;
    this.#since = undefined;
    clearTimeout(this.#timer);
  }

  resume(): void {
    if (--this.#pauses > 0 || this.#listener === undefined) return;
    this.#since = performance.now();
    this.#wait();
  }

  /** Stores what the turn has used. Returns the report for clients, if there are budgets. */
  async end(usage: TurnEnd["usage"]): Promise<TurnEnd["usage"]> {
    this.#listener = undefined;
    this.#seconds = this.#time;
    this.#since = undefined;
    clearTimeout(this.#timer);
    this.#counter.ended(usage);
    await this.#options.note(this.used, this.#counter.reportedCost, true);
    const { allowances, resets } = this.#options;
    return allowances.length === 0 ? undefined : budgetReport(allowances, this.used, resets);
  }

  get #time(): number {
    const running = this.#since === undefined ? 0 : (performance.now() - this.#since) / 1000;
    return this.#seconds + running;
  }

  #check(): void {
    const { allowances } = this.#options;
    const { used } = this;
    if (this.#isSpent || this.#listener === undefined) return;
    const spent = spentBy(allowances, used);
    const before = this.#checked;
    this.#checked = used;
    if (spent !== undefined) {
      this.#isSpent = true;
      this.#listener.spent(spent);
      return;
    }
    for (const words of warningsFor(allowances, before, used)) this.#listener.warned(words);
    if (this.#isAsking || shareSpentBy(allowances, used) === undefined) return;
    this.#isAsking = true;
    background(this.#outgrowShare(), "Reserving more of a budget");
  }

  /** Checks again when a time limit may be reached, and stores the use at intervals. */
  #wait(): void {
    const { allowances, noteEvery } = this.#options;
    const marks = allowances.flatMap(({ budget: { time }, used, share }) =>
      time === undefined || this.#isSpent
        ? []
        : [time * 0.8 - used.time, time - used.time, share?.left.time ?? Infinity],
    );
    // One may have passed since the last check.
    const left = marks.filter((at) => at > this.#checked.time).map((at) => at - this.#time);
    const next = Math.min(noteEvery, ...left.map((it) => Math.max(0, it) * 1000 + 1));
    this.#timer = setTimeout(() => {
      this.#check();
      if (next < noteEvery) this.#waitOn();
      else background(this.#note(), "Storing what a turn has used");
    }, next).unref();
  }

  /** Asks for more before it ends the turn. */
  async #outgrowShare(): Promise<void> {
    for (;;) {
      const { used } = this;
      const { allowances } = this.#options;
      if (shareSpentBy(allowances, used) === undefined) break;
      await this.#options.note(used, this.#counter.reportedCost, false);
      const spent = shareSpentBy(allowances, used);
      if (spent === undefined) continue;
      // The budget itself may have been used up meanwhile.
      if (this.#isSpent) break;
      this.#isSpent = true;
      this.#listener?.spent(spent);
      break;
    }
    this.#isAsking = false;
  }

  async #note(): Promise<void> {
    await this.#options.note(this.used, this.#counter.reportedCost, false);
    // Other turns may have used up the budget of the day.
    this.#check();
    this.#waitOn();
  }

  #waitOn(): void {
    if (this.#since !== undefined) this.#wait();
  }
}

/** What a turn may use of one budget: its session's, or its principal's for the day. */
export interface Allowance {
  readonly of: "session" | "day";
  readonly budget: Budget;
  /** What was used before the turn; for a day, other turns included. */
  used: Amounts;
  /** How much of it this process has reserved for the turn, where others use the budget too. */
  share?: { readonly left: Amounts; readonly why: string };
  /** How a person can get more of an amount. */
  readonly remedy: (amount: Amount) => string;
}

/** Why a turn has to end: an amount is used up. */
export interface Overspend {
  readonly amount: Amount;
  readonly words: string;
}

const WARN_AT = 0.8;

/** Throws if nothing is left for a turn. */
export function refuseSpent(allowances: readonly Allowance[]): void {
  for (const allowance of allowances) {
    const amount = usedUp(allowance.budget, allowance.used);
    const unshared = amount ?? usedUp(allowance.share?.left ?? {}, NOTHING_USED);
    if (unshared === undefined) continue;
    const own = amount === undefined ? allowance.share : undefined;
    const words = spentWords(allowance, unshared, allowance.used[unshared], own?.why);
    throw new TrunklineError("limit", `Cannot begin a turn: ${words}`);
  }
}

/** The limited amounts of budgets, and what was used of them before the turn. */
function limited(allowances: readonly Allowance[]) {
  return allowances.flatMap((allowance) =>
    AMOUNTS.flatMap((amount) => {
      const limit = allowance.budget[amount];
      return limit === undefined
        ? []
        : [{ allowance, amount, limit, base: allowance.used[amount] }];
    }),
  );
}

/** The amount that a turn has used up, if any; `used` is what it has used itself. */
export function spentBy(allowances: readonly Allowance[], used: Amounts): Overspend | undefined {
  const spent = limited(allowances).find(({ amount, limit, base }) => {
    const total = base + used[amount];
    // The last allowed step may finish, so only the step after it ends the turn.
    return amount === "steps" ? total > limit : total >= limit;
  });
  if (spent === undefined) return undefined;
  const { allowance, amount, base } = spent;
  return { amount, words: spentWords(allowance, amount, base + used[amount]) };
}

/** The amount of which a turn has used up what this process has reserved. */
function shareSpentBy(allowances: readonly Allowance[], used: Amounts): Overspend | undefined {
  const spent = limited(allowances).find(({ allowance: { share }, amount }) => {
    const left = share?.left[amount] ?? Infinity;
    return amount === "steps" ? used.steps > left : used[amount] >= left;
  });
  if (spent === undefined) return undefined;
  const { allowance, amount, base } = spent;
  const words = spentWords(allowance, amount, base + used[amount], allowance.share?.why);
  return { amount, words };
}

/** Warnings for amounts that have become nearly used up since `before`. */
export function warningsFor(
  allowances: readonly Allowance[],
  before: Amounts,
  used: Amounts,
): string[] {
  return limited(allowances).flatMap(({ allowance: { of }, amount, limit, base }) => {
    const from = limit * WARN_AT;
    const total = base + used[amount];
    if (base + before[amount] >= from || total < from || total >= limit) return [];
    const whose = of === "session" ? "this session's budget" : "today's budget";
    return [`${shareText(amount, total, limit)} of ${whose} are used.`];
  });
}

/** For clients: how much of each limited amount is used, and when it resets. */
export function budgetReport(
  allowances: readonly Allowance[],
  used: Amounts,
  resets: string,
): Readonly<Record<string, unknown>> {
  const entries = allowances.map((allowance) => {
    const total = plus(allowance.used, used);
    const amounts = AMOUNTS.flatMap((amount) => {
      const limit = allowance.budget[amount];
      return limit === undefined ? [] : [[amount, { used: round(total[amount]), limit }] as const];
    });
    const report = { ...Object.fromEntries(amounts) };
    return [allowance.of, allowance.of === "day" ? { ...report, resets } : report] as const;
  });
  return Object.fromEntries(entries);
}

/** ACP § StopReason has a reason for tokens and one for steps; the latter is also used for cost and time. */
export function stopReasonFor(amount: Amount): StopReason {
  return amount === "tokens" ? "max_tokens" : "max_turn_requests";
}

function spentWords(
  { of, budget, remedy }: Allowance,
  amount: Amount,
  used: number,
  whyNoMore?: string,
): string {
  const limit = budget[amount] ?? 0;
  const shown = amount === "steps" ? Math.min(used, limit) : used;
  const whose = of === "session" ? "this session's budget" : "today's budget";
  const says = `${shareText(amount, shown, limit)} of ${whose} are used`;
  return whyNoMore === undefined ? `${says}. ${remedy(amount)}` : `${says}, and ${whyNoMore}.`;
}

function round(value: number): number {
  return Math.round(value * 1e6) / 1e6;
}
