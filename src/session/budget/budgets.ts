import {
  type Amount,
  type Amounts,
  type Budget,
  minus,
  NOTHING_USED,
  plus,
} from "../../base/limit/budget.ts";
import type { Log } from "../../base/log.ts";
import { OWNER, type Principal } from "../../base/principal.ts";
import type { TurnUsage } from "../store.ts";
import { type Allowance, TurnMeter, type TurnMeterOptions } from "./turn-meter.ts";

/** Stores what turns have used. All processes on the data folder share it. */
export interface UsageStore {
  /** Stores the use of a turn. A later note of the same turn replaces it. */
  note(usage: TurnUsage): Promise<void>;
  ofSession(session: string): Promise<Amounts & { readonly reportedCost: number | undefined }>;
  /** What a principal has used on a day, except in one turn. */
  ofDay(principal: string, day: string, exceptTurn?: string): Promise<Amounts>;
}

/** A budget that is shared by processes with a `UsageStore` each, such as the workers of a fleet. */
export interface BudgetPool {
  /**
   * Reports what this process has used of an account, and reserves more for a turn that goes on. If the
   * others cannot be reached, earlier reservations count.
   */
  settle(account: PoolAccount): Promise<PoolShare>;
  /** Runs work of an owner while no other process runs any for that owner. */
  alone<T>(owner: string, work: () => Promise<T>): Promise<T>;
}

export interface PoolAccount {
  readonly key: string;
  readonly budget: Budget;
  readonly turn: string;
  /** The turn is over. What is reserved for no other turn is given back. */
  readonly isOver: boolean;
  /** What this process has used, in all turns. */
  readonly used: Amounts;
  readonly reportedCost?: number | undefined;
}

export interface PoolShare {
  /** What other processes have used. */
  readonly elsewhere: Amounts;
  /** How much this process may have used in all. */
  readonly upTo: Amounts;
  /** Why there is no more, in words. */
  readonly why: string;
  readonly reportedCost?: number | undefined;
}

export interface BudgetsOptions {
  readonly store: UsageStore;
  readonly pool?: BudgetPool | undefined;
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

/** The state of a turn that is reported to the pool. The turn may end during a report. */
interface SettledTurn {
  readonly turn: string;
  isOver: boolean;
  reportedCost: number | undefined;
}

/** An allowance, and its key where several processes share it. */
interface Account {
  readonly key: string;
  readonly allowance: Allowance;
  /** What other turns have used in this process. */
  readonly ofOthers: () => Promise<Amounts>;
}

const NOTE_EVERY = 5_000;
const DAY = 24 * 60 * 60_000;

/**
 * Enforces the budgets of sessions and principals. If the store fails, a prompt with a budget is refused,
 * because the count is unknown; a running turn continues.
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
    const accounts: Account[] = [];
    const settled: SettledTurn = { turn: turn.turn, isOver: false, reportedCost: undefined };
    let reportedCost: number | undefined;
    try {
      await this.#storeLate();
      const { reportedCost: cost, ...here } = await store.ofSession(turn.session);
      reportedCost = cost;
      accounts.push({
        key: `session ${turn.session}`,
        allowance: { of: "session", budget: perSession, used: here, remedy: sessionRemedy },
        ofOthers: async () => here,
      });
      if (Object.keys(perDay).length > 0) {
        const ofOthers = (): Promise<Amounts> => store.ofDay(turn.principal.id, day, turn.turn);
        accounts.push({
          key: `day ${day} ${turn.principal.id}`,
          allowance: {
            of: "day",
            budget: perDay,
            used: await ofOthers(),
            remedy: dayRemedy(turn, resets),
          },
          ofOthers,
        });
      }
      if (isLimited) {
        // Only another process may know what the agent reported last.
        const [session] = await this.#settle(accounts, settled);
        reportedCost = session?.reportedCost ?? reportedCost;
      }
    } catch (error) {
      if (isLimited) throw error;
      log.warn("session.usage-not-read", { session: turn.session, error });
    }
    const allowances = accounts
      .map(({ allowance }) => allowance)
      .filter(({ budget }) => Object.keys(budget).length > 0);
    const note: TurnMeterOptions["note"] = async (used, cost, isOver) => {
      const { session, principal } = turn;
      const usage = { ...used, turn: turn.turn, session, principal: principal.id, day };
      this.#unstored.set(turn.turn, { ...usage, reportedCost: cost });
      settled.reportedCost = cost;
      settled.isOver ||= isOver;
      try {
        await this.#storeLate();
        if (isLimited) await this.#settle(accounts, settled, used);
      } catch (error) {
        log.warn("session.usage-not-stored", { session, error });
      }
    };
    try {
      return new TurnMeter({ allowances, reportedCost, resets, note, noteEvery });
    } catch (error) {
      settled.isOver = true;
      await this.#settle(accounts, settled);
      throw error;
    }
  }

  /** See `BudgetPool`. Undefined where one process opens all sessions. */
  get alone(): BudgetPool["alone"] | undefined {
    const { pool } = this.#options;
    return pool && ((owner, work) => pool.alone(owner, work));
  }

  /** Updates what is left for a turn. `used` is what it has used itself. */
  async #settle(
    accounts: readonly Account[],
    turn: SettledTurn,
    used = NOTHING_USED,
  ): Promise<(PoolShare | undefined)[]> {
    const { pool } = this.#options;
    const settling = accounts.map(async ({ key, allowance, ofOthers }) => {
      const here = await ofOthers();
      const { budget } = allowance;
      const share = await pool?.settle({ ...turn, key, budget, used: plus(here, used) });
      allowance.used = plus(here, share?.elsewhere ?? NOTHING_USED);
      if (share !== undefined) allowance.share = { left: minus(share.upTo, here), why: share.why };
      return share;
    });
    return await Promise.all(settling);
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
