import type { Choices } from "./choices.ts";

/** A program that runs on some machine until it crashes. */
export interface Program {
  readonly name: string;
  isDead: boolean;
  /** Stopped as by SIGSTOP: nothing reaches it, and none of its timers fires. */
  isPaused: boolean;
}

interface Call {
  readonly by: Program;
  readonly apply: () => unknown;
  readonly answer: (outcome: Outcome) => void;
  /** Set when the server has it done. */
  outcome: Outcome | undefined;
  /** It was lost on the way. */
  isLost: boolean;
  /** The caller does not wait any more. The call may still come to the server. */
  isOver: boolean;
}

interface Outcome {
  readonly value?: unknown;
  readonly error?: unknown;
}

interface Timer {
  readonly by: Program;
  readonly fire: () => void;
}

/** What is on its way between programs and the server, and which timers run. */
export class Network {
  readonly #choices: Choices;
  #calls: Call[] = [];
  #timers: Timer[] = [];

  constructor(choices: Choices) {
    this.#choices = choices;
  }

  get isQuiet(): boolean {
    return this.#calls.length === 0 && this.#timers.length === 0;
  }

  call<T>(by: Program, apply: () => T): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    const answer = ({ value, error }: Outcome): void => {
      if (error === undefined) resolve(value as T);
      else reject(error);
    };
    this.#calls.push({ by, apply, answer, outcome: undefined, isLost: false, isOver: false });
    return promise;
  }

  /** Clocks are of no use: a timer may fire at once, or much later. */
  wait(by: Program): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#timers.push({ by, fire: resolve });
    return promise;
  }

  /** What a program waited for when it crashed. What it has sent may still arrive. */
  forget(dead: Program): void {
    this.#timers = this.#timers.filter(({ by }) => by !== dead);
    for (const call of this.#calls) if (call.by === dead) call.isOver = true;
    this.#tidy();
  }

  /** The next thing that may happen to a call or a timer. Returns false if nothing can. */
  step(isFair: boolean): boolean {
    const awake = this.#timers.filter(({ by }) => !by.isPaused);
    const calls = this.#calls.filter(({ by, outcome, isLost }) => {
      return outcome === undefined && !isLost ? true : !by.isPaused;
    });
    const count = calls.length + awake.length;
    if (count === 0) return false;
    const index = isFair ? 0 : this.#choices.below(count);
    const call = calls[index];
    if (call !== undefined) {
      this.#advance(call, isFair);
      this.#tidy();
      return true;
    }
    const timer = awake[index - calls.length] as Timer;
    this.#timers.splice(this.#timers.indexOf(timer), 1);
    timer.fire();
    return true;
  }

  #advance(call: Call, isFair: boolean): void {
    if (call.isLost) {
      this.#giveUp(call);
    } else if (call.outcome !== undefined) {
      const isHeard = isFair || this.#choices.weighted(5, 1) === 0;
      if (isHeard) this.#end(call, call.outcome);
      else this.#giveUp(call);
    } else {
      const fate = isFair ? 0 : this.#choices.weighted(7, 1, 1, 1);
      if (fate === 0) call.outcome = outcomeOf(call.apply);
      // It arrives twice.
      else if (fate === 1) this.#calls.push({ ...call, isOver: true });
      else if (fate === 2) call.isLost = true;
      // The caller hears nothing in time, and the call arrives later.
      else if (!call.isOver && !call.by.isPaused) this.#giveUp(call);
    }
  }

  #giveUp(call: Call): void {
    this.#end(call, { error: new Error("timeout") });
  }

  #end(call: Call, outcome: Outcome): void {
    if (!call.isOver) call.answer(outcome);
    call.isOver = true;
  }

  /** Nobody waits for these, and the server has done them or never will. */
  #tidy(): void {
    this.#calls = this.#calls.filter(({ isOver, isLost, outcome }) => {
      return !isOver || (!isLost && outcome === undefined);
    });
  }
}

function outcomeOf(apply: () => unknown): Outcome {
  try {
    return { value: apply() };
  } catch (error) {
    return { error };
  }
}
