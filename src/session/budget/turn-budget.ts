import {
  type Amount,
  AMOUNTS,
  type Amounts,
  type Budget,
  plus,
  shareText,
  usedUp,
} from "../../base/limit/budget.ts";
import { TrunklineError } from "../../base/errors.ts";
import type { StopReason } from "../agent.ts";

/** What a turn may use of one budget: its session's, or its principal's for the day. */
export interface Allowance {
  readonly of: "session" | "day";
  readonly budget: Budget;
  /** What was used before the turn, for a day also by other turns. */
  used: Amounts;
  /** How a person can get more of an amount. */
  readonly remedy: (amount: Amount) => string;
}

/** Why a turn has to end: an amount is used up. */
export interface Spent {
  readonly amount: Amount;
  readonly words: string;
}

const WARN_AT = 0.8;

/** Throws if nothing is left for a turn. */
export function refuseSpent(allowances: readonly Allowance[]): void {
  for (const allowance of allowances) {
    const amount = usedUp(allowance.budget, allowance.used);
    if (amount === undefined) continue;
    const words = spentWords(allowance, amount, allowance.used[amount]);
    throw new TrunklineError("limit", `Cannot begin a turn: ${words}`);
  }
}

/** The amount that a turn has used up, if any; `used` is what it has used itself. */
export function spentBy(allowances: readonly Allowance[], used: Amounts): Spent | undefined {
  for (const allowance of allowances) {
    const total = plus(allowance.used, used);
    const amount = AMOUNTS.find((each) => isBeyond(allowance.budget, each, total[each]));
    if (amount === undefined) continue;
    return { amount, words: spentWords(allowance, amount, total[amount]) };
  }
  return undefined;
}

/** The last allowed step may finish, so only the step after it ends the turn. */
function isBeyond(budget: Budget, amount: Amount, total: number): boolean {
  const limit = budget[amount] ?? Infinity;
  return amount === "steps" ? total > limit : total >= limit;
}

/** Warnings for amounts that have become nearly used up since `before`. */
export function warningsFor(
  allowances: readonly Allowance[],
  before: Amounts,
  used: Amounts,
): string[] {
  return allowances.flatMap(({ of, budget, used: base }) =>
    AMOUNTS.flatMap((amount) => {
      const limit = budget[amount];
      if (limit === undefined) return [];
      const from = limit * WARN_AT;
      const total = base[amount] + used[amount];
      if (base[amount] + before[amount] >= from || total < from || total >= limit) return [];
      const whose = of === "session" ? "this session's budget" : "today's budget";
      return [`${shareText(amount, total, limit)} of ${whose} are used.`];
    }),
  );
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

function spentWords({ of, budget, remedy }: Allowance, amount: Amount, used: number): string {
  const limit = budget[amount] ?? 0;
  const shown = amount === "steps" ? Math.min(used, limit) : used;
  const whose = of === "session" ? "this session's budget" : "today's budget";
  return `${shareText(amount, shown, limit)} of ${whose} are used. ${remedy(amount)}`;
}

function round(value: number): number {
  return Math.round(value * 1e6) / 1e6;
}
