import { TrunklineError } from "../../base/errors.ts";
import { AMOUNTS, type Amount, amountText, type Budget } from "../../base/limit/budget.ts";
import type { PrincipalLimits } from "../../base/principal.ts";
import { counted } from "../shell/layout.ts";

/** The options of `trunkline token create` that limit what a token may use. */
export interface BudgetValues {
  readonly "budget-tokens"?: string;
  readonly "budget-cost"?: string;
  readonly "budget-steps"?: string;
  readonly "budget-time"?: string;
  readonly concurrent?: string;
}

const THOUSANDS: Readonly<Record<string, number>> = { "": 1, k: 1e3, m: 1e6 };
const SECONDS: Readonly<Record<string, number>> = { "": 1, s: 1, m: 60, h: 3_600 };

export function budgetLimits(values: BudgetValues): Pick<PrincipalLimits, "budget" | "concurrent"> {
  const given = AMOUNTS.flatMap((amount) => {
    const text = values[`budget-${amount}`];
    return text === undefined ? [] : [[amount, amountOf(amount, text)] as const];
  });
  const budget: Budget = Object.fromEntries(given);
  const { concurrent } = values;
  return {
    ...(given.length === 0 ? {} : { budget }),
    ...(concurrent === undefined ? {} : { concurrent: countOf("--concurrent", concurrent) }),
  };
}

/** "10,000 tokens and $5.00 a day; 3 sessions at once"; empty where nothing is limited. */
export function budgetText({ budget = {}, concurrent }: PrincipalLimits): string[] {
  const amounts = AMOUNTS.flatMap((amount) => {
    const limit = budget[amount];
    return limit === undefined ? [] : [amountText(amount, limit)];
  });
  return [
    ...(amounts.length === 0 ? [] : [`${amounts.join(", ")} a day`]),
    ...(concurrent === undefined ? [] : [`${counted(concurrent, "session")} at once`]),
  ];
}

function amountOf(amount: Amount, text: string): number {
  const option = `--budget-${amount}`;
  switch (amount) {
    case "tokens":
    case "steps":
      return countOf(option, text);
    case "cost": {
      const [, dollars = ""] = /^\$?(\d{1,9}(?:\.\d{1,4})?)$/.exec(text) ?? [];
      if (Number(dollars) > 0) return Number(dollars);
      throw wrong(option, text, "give US dollars, such as 5 or 2.50");
    }
    case "time": {
      const [, count = "", unit = ""] = /^(\d{1,9})([smh]?)$/.exec(text) ?? [];
      const seconds = Number(count) * (SECONDS[unit] ?? 0);
      if (seconds > 0) return seconds;
      throw wrong(option, text, "give a time, such as 90s, 30m or 2h");
    }
  }
}

function countOf(option: string, text: string): number {
  const [, count = "", unit = ""] = /^(\d{1,9}(?:\.\d{1,6})?)([km]?)$/i.exec(text) ?? [];
  const value = Number(count) * (THOUSANDS[unit.toLowerCase()] ?? 0);
  if (value >= 1 && Number.isSafeInteger(value)) return value;
  throw wrong(option, text, "give a whole number, such as 500, 200k or 2M");
}

function wrong(option: string, text: string, next: string): TrunklineError {
  return new TrunklineError("usage", `Cannot use '${text.slice(0, 40)}' for ${option}: ${next}.`);
}
