import { background } from "../../base/background.ts";
import { type Amounts, NOTHING_USED } from "../../base/limit/budget.ts";
import type { SessionUpdate } from "../agent.ts";
import {
  type Allowance,
  budgetReport,
  refuseSpent,
  type Spent,
  spentBy,
  warningsFor,
} from "./turn-budget.ts";
import { UsageCounter } from "./usage-counter.ts";

export interface TurnMeterOptions {
  readonly allowances: readonly Allowance[];
  /** The cost of the session that the agent reported in earlier turns. */
  readonly reportedCost: number | undefined;
  /** When the day's budget resets. */
  readonly resets: string;
  /** Stores what was used so far, and updates the allowances. Never throws. */
  readonly note: (used: Amounts, reportedCost: number | undefined) => Promise<void>;
  /** Milliseconds between two records of a running turn. */
  readonly noteEvery: number;
}

/** Called by a meter while its turn is running. */
export interface MeterListener {
  /** A budget is used up; called once. */
  spent(spent: Spent): void;
  /** A budget is nearly used up. */
  warned(words: string): void;
}

/** Measures what one turn uses, and says when a budget is used up. */
export class TurnMeter {
  readonly #options: TurnMeterOptions;
  readonly #counter: UsageCounter;
  #listener: MeterListener | undefined;
  #seconds = 0;
  /** When the clock was last started; undefined while it is paused. */
  #since: number | undefined;
  #pauses = 0;
  #timer: NodeJS.Timeout | undefined;
  #checked: Amounts = NOTHING_USED;
  #isSpent = false;

  constructor(options: TurnMeterOptions) {
    refuseSpent(options.allowances);
    this.#options = options;
    this.#counter = new UsageCounter(options.reportedCost);
  }

  get used(): Amounts {
    return { ...this.#counter.used, time: this.#time };
  }

  begin(listener: MeterListener): void {
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
  async end(
    usage: Readonly<Record<string, unknown>> | undefined,
  ): Promise<Readonly<Record<string, unknown>> | undefined> {
    this.#listener = undefined;
    this.#seconds = this.#time;
    this.#since = undefined;
    clearTimeout(this.#timer);
    this.#counter.ended(usage);
    await this.#options.note(this.used, this.#counter.reportedCost);
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
  }

  /** Checks again when a time limit may be reached, and stores the use at intervals. */
  #wait(): void {
    const { allowances, noteEvery } = this.#options;
    const marks = allowances.flatMap(({ budget: { time }, used }) =>
      time === undefined || this.#isSpent ? [] : [time * 0.8, time].map((at) => at - used.time),
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

  async #note(): Promise<void> {
    await this.#options.note(this.used, this.#counter.reportedCost);
    // Other turns may have used up the budget of the day.
    this.#check();
    this.#waitOn();
  }

  #waitOn(): void {
    if (this.#since !== undefined) this.#wait();
  }
}
