import { type Rate, RateLimiter } from "../base/limit/rate-limiter.ts";

/** Counts errors: whoever makes too many is not read for a while. Where there is no rate, nobody waits. */
export class ErrorPace {
  readonly #errors: RateLimiter | undefined;
  #pause: PromiseWithResolvers<void> | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(rate: Rate | undefined) {
    this.#errors = rate && new RateLimiter(rate);
  }

  /** Counts an error. Returns the end of the pause, if there is to be one. */
  taken(): Promise<void> | undefined {
    const wait = this.#errors?.take("") ?? 0;
    if (wait === 0) return undefined;
    // The timer keeps the process alive: input that is not read does not.
    this.#timer ??= setTimeout(() => this.end(), wait);
    this.#pause ??= Promise.withResolvers<void>();
    return this.#pause.promise;
  }

  end(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#pause?.resolve();
    this.#pause = undefined;
  }
}
