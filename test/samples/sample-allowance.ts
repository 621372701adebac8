import type { CheckLimits } from "../../src/setup/doctor/check.ts";

/** What `trunkline doctor` gives to a check, for a test of that check alone. */
export class SampleAllowance implements CheckLimits, AsyncDisposable {
  readonly patience: number;
  readonly #giveUp = new AbortController();
  readonly #work: Promise<unknown>[] = [];

  constructor(patience = 20_000) {
    this.patience = patience;
  }

  get signal(): AbortSignal {
    return this.#giveUp.signal;
  }

  readonly endsLater = (work: Promise<unknown>): void => {
    this.#work.push(work);
  };

  giveUp(): void {
    this.#giveUp.abort();
  }

  /** Waits until everything has ended that the check has left to end. */
  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.allSettled(this.#work);
  }
}
