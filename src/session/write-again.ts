import { background } from "../base/background.ts";
import { Backoff } from "../base/limit/backoff.ts";

const LIMITS = { firstWait: 500, longestWait: 60_000, mostFailures: Infinity, rest: 60_000 };

/**
 * Repeats a write that the store has refused until it succeeds or the session ends: until then, others who
 * read the store would see a turn that has ended as running.
 */
export class WriteAgain implements Disposable {
  readonly #write: () => Promise<unknown>;
  readonly #backoff = new Backoff(LIMITS);
  #timer: NodeJS.Timeout | undefined;
  #isOver = false;

  /** `write` tells us by `succeeded` or `failed` how it went. */
  constructor(write: () => Promise<unknown>) {
    this.#write = write;
  }

  succeeded(): void {
    clearTimeout(this.#timer);
    this.#backoff.succeeded();
  }

  failed(): void {
    clearTimeout(this.#timer);
    if (this.#isOver) return;
    const again = (): void =>
      background(
        this.#write().catch(() => {}),
        "Writing again what the store refused",
      );
    this.#timer = setTimeout(again, this.#backoff.failed()).unref();
  }

  [Symbol.dispose](): void {
    this.#isOver = true;
    clearTimeout(this.#timer);
  }
}
