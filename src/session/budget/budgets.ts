import { type Amount, type Amounts, type Budget, NOTHING_USED } from "../../base/limit/budget.ts";
import type { Log } from "../../base/log.ts";
import { OWNER, type Principal } from "../../base/principal.ts";
import { type Allowance, TurnMeter } from "./turn-meter.ts";

/** What one turn has used. */
export interface TurnUsage extends Amounts {
  readonly turn: string;
  readonly session: string;
  /** Id of the principal that prompted. */
  readonly principal: string;
  /** The day on which the turn began, in UTC: `2026-11-15`. */
  readonly day: string;
  /** The cost of the whole session that the agent last reported. */
  readonly reportedCost: number | undefined;
}

/** Stores what turns have used. All processes on the data folder share it. */
export interface UsageStore {
  /** Stores the use of a turn. A later note of the same turn replaces it. */
  note(usage: TurnUsage): Promise<void>;
  ofSession(session: string): Promise<Amounts & { readonly reportedCost: number | undefined }>;
  /** What a principal has used on a day, except in one turn. */
  ofDay(principal: string, day: string, exceptTurn?: string): Promise<Amounts>;
}

export interface BudgetsOptions {
  readonly store: UsageStore;
  /** What each session may use. */
  readonly session: Budget;
  /** What each principal may use in a day, unless its token says otherwise. */
  readonly day: Budget;
  /** Sessions that each principal may have open, unless its token says otherwise. */
  readonly concurrent?: number | undefined;
  readonly log: Log;
  readonly now?: () => number;
  readonly noteEvery?: number;
}

interface MeasuredTurn {
  readonly turn: string;
  readonly session: string;
  readonly principal: Principal;
}

const NOTE_EVERY = 5_000;
const DAY = 24 * 60 * 60_000;

/**
 * What sessions and principals may use, and have used. If the store fails, a prompt with a budget is
 * refused, because the count is unknown. A running turn continues.
 */
export class Budgets {
  readonly #options: BudgetsOptions;
  readonly #now: () => number;
  /** Records of turns that could not be stored yet. */
  readonly #unstored = new Map<string, TurnUsage>();

  constructor(options: BudgetsOptions) {
    this.#options = options;
    this.#now = options.now ?? Date.now;
  }

  /** Sessions that a principal may have open at once. */
  concurrentFor({ limits }: Principal): number | undefined {
    return limits?.concurrent ?? this.#options.concurrent;
  }

  /** Throws if a budget is used up, or cannot be read. */
  async begin(turn: MeasuredTurn): Promise<TurnMeter> {
    const { store, log, noteEvery = NOTE_EVERY } = this.#options;
    const day = new Date(this.#now()).toISOString().slice(0, 10);
    const resets = new Date(Date.parse(day) + DAY).toISOString();
    const perSession = this.#options.session;
    const perDay = { ...this.#options.day, ...turn.principal.limits?.budget };
    const isLimited = Object.keys({ ...perSession, ...perDay }).length > 0;
    let allowances: Allowance[] = [];
    let reportedCost: number | undefined;
    try {
      await this.#storeLate();
      const { reportedCost: cost, ...used } = await store.ofSession(turn.session);
      reportedCost = cost;
      const ofDay = Object.keys(perDay).length === 0 ? NOTHING_USED : await this.#day(turn, day);
      allowances = [
        { of: "session" as const, budget: perSession, used, remedy: sessionRemedy },
        { of: "day" as const, budget: perDay, used: ofDay, remedy: dayRemedy(turn, resets) },
      ].filter(({ budget }) => Object.keys(budget).length > 0);
    } catch (error) {
      if (isLimited) throw error;
      log.warn("session.usage-not-read", { session: turn.session, error });
    }
    const daily = allowances.find(({ of }) => of === "day");
    const note = async (used: Amounts, cost: number | undefined): Promise<void> => {
      const { session, principal } = turn;
      const usage = { ...used, turn: turn.turn, session, principal: principal.id, day };
      this.#unstored.set(turn.turn, { ...usage, reportedCost: cost });
      try {
        await this.#storeLate();
        if (daily !== undefined) daily.used = await this.#day(turn, day);
      } catch (error) {
        log.warn("session.usage-not-stored", { session, error });
      }
    };
    return new TurnMeter({ allowances, reportedCost, resets, note, noteEvery });
  }

  #day({ turn, principal }: MeasuredTurn, day: string): Promise<Amounts> {
    return this.#options.store.ofDay(principal.id, day, turn);
  }

  /** A record that could not be stored is stored with the next one, and before the next turn begins. */
  async #storeLate(): Promise<void> {
    for (const usage of this.#unstored.values()) {
      await this.#options.store.note(usage);
      if (this.#unstored.get(usage.turn) === usage) this.#unstored.delete(usage.turn);
    }
  }
}

function sessionRemedy(amount: Amount): string {
  return `Begin another session, or raise \`sessions.budget.${amount}\`.`;
}

function dayRemedy({ principal }: MeasuredTurn, resets: string): (amount: Amount) => string {
  return (amount) => {
    const when = `It resets at ${resets.slice(0, 16).replace("T", " ")} UTC.`;
    if (principal.limits?.budget?.[amount] === undefined) {
      return `${when} \`sessions.dailyBudget.${amount}\` raises it.`;
    }
    const whose = principal.id === OWNER.id ? "" : ` '${principal.name ?? principal.id}'`;
    return `${when} The limit is that of the access token${whose} (--budget-${amount}).`;
  };
}
