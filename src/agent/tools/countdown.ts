/** A timeout that can be paused. */
export class Countdown implements Disposable {
  readonly #expire: () => void;
  #left: number;
  #startedAt = 0;
  #timer: NodeJS.Timeout | undefined;
  #pauses = 0;

  constructor(milliseconds: number, expire: () => void) {
    this.#left = milliseconds;
    this.#expire = expire;
    this.#start();
  }

  /** Pauses the timeout while the work runs. */
  async pausedWhile<T>(work: () => Promise<T>): Promise<T> {
    if (this.#pauses++ === 0) this.#stop();
    try {
      return await work();
    } finally {
      if (--this.#pauses === 0) this.#start();
    }
  }

  [Symbol.dispose](): void {
    this.#pauses = Infinity;
    clearTimeout(this.#timer);
  }

  #start(): void {
    this.#startedAt = performance.now();
    this.#timer = setTimeout(this.#expire, Math.max(1, this.#left));
  }

  #stop(): void {
    clearTimeout(this.#timer);
    this.#left -= performance.now() - this.#startedAt;
  }
}
