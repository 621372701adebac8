/** What turns of agents use up: tokens of models, money, tool calls, and seconds. */
export const AMOUNTS = ["tokens", "cost", "steps", "time"] as const;
export type Amount = (typeof AMOUNTS)[number];

/** How much of each was used. Cost is in US dollars, time in seconds. */
export type Amounts = Readonly<Record<Amount, number>>;

/** How much of each may be used. What is left out is not limited. */
export type Budget = Readonly<Partial<Record<Amount, number>>>;

export const NOTHING_USED: Amounts = { tokens: 0, cost: 0, steps: 0, time: 0 };

export function plus(one: Amounts, other: Amounts): Amounts {
  return amountsBy((amount) => one[amount] + other[amount]);
}

export function minus(one: Amounts, other: Amounts): Amounts {
  return amountsBy((amount) => one[amount] - other[amount]);
}

export function amountsBy(value: (amount: Amount) => number): Amounts {
  return {
    tokens: value("tokens"),
    cost: value("cost"),
    steps: value("steps"),
    time: value("time"),
  };
}

/** The first amount of which all is used. */
export function usedUp(budget: Budget, used: Amounts): Amount | undefined {
  return AMOUNTS.find((amount) => used[amount] >= (budget[amount] ?? Infinity));
}

/** How much of an amount: "12,000 tokens", "$1.50", "1 step", "90 seconds". */
export function amountText(amount: Amount, value: number): string {
  const number = numberText(amount, value);
  return number === "1" ? `1 ${UNITS[amount].slice(0, -1)}` : withUnit(amount, number);
}

/** "9,000 of 10,000 tokens", "$1.00 of $2.00". */
export function shareText(amount: Amount, used: number, limit: number): string {
  return `${numberText(amount, used)} of ${withUnit(amount, numberText(amount, limit))}`;
}

const UNITS: Readonly<Record<Amount, string>> = {
  tokens: "tokens",
  cost: "",
  steps: "steps",
  time: "seconds",
};

function numberText(amount: Amount, value: number): string {
  if (amount !== "cost") return Math.round(value).toLocaleString("en-US");
  return `$${value.toFixed(value !== 0 && value < 0.1 ? 4 : 2)}`;
}

function withUnit(amount: Amount, number: string): string {
  return `${number} ${UNITS[amount]}`.trimEnd();
}

/**
 * A text for each amount: how much of its limit was used, or how much was used if there is no limit.
 * Unlimited amounts of which nothing was used are left out.
 */
export function budgetShares(budget: Budget, used: Amounts): string[] {
  return AMOUNTS.flatMap((amount) => {
    const limit = budget[amount];
    if (limit !== undefined) return [shareText(amount, used[amount], limit)];
    return used[amount] === 0 ? [] : [amountText(amount, used[amount])];
  });
}
