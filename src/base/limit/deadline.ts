/** A timer cannot be set further away. */
const LONGEST_TIMER = 2 ** 31 - 1;

/** A time limit, which does not keep the process alive. */
export class Deadline {
  readonly #milliseconds: number;
  readonly #expire: () => void;
  #timer: NodeJS.Timeout | undefined;

  constructor(milliseconds: number, expire: () => void) {
    this.#milliseconds = Math.min(milliseconds, LONGEST_TIMER);
    this.#expire = expire;
    this.start();
  }

  /** Counts from now: the work has shown progress, or goes on after a stop. */
  start(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(this.#expire, this.#milliseconds).unref();
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  /** Counts from now, unless it is stopped. */
  restart(): void {
    if (this.#timer !== undefined) this.start();
  }
}
