/** One running limit of time. */
export interface Deadline {
  at: number;
  readonly expire: () => void;
}

/** A timer cannot be set further away. */
const LONGEST_TIMER = 2 ** 31 - 1;

/**
 * Many deadlines on one timer, which may be further away than a timer can be set, and do not keep
 * the process alive.
 */
export class Deadlines {
  readonly #running = new Set<Deadline>();
  #timer: NodeJS.Timeout | undefined;
  #wakeAt = Infinity;

  start(milliseconds: number, expire: () => void): Deadline {
    const deadline: Deadline = { at: performance.now() + milliseconds, expire };
    this.#running.add(deadline);
    this.#wakeBy(deadline.at);
    return deadline;
  }

  /** Counts again from now: the work has shown progress. */
  restart(deadline: Deadline, milliseconds: number): void {
    deadline.at = performance.now() + milliseconds;
    this.#wakeBy(deadline.at);
  }

  stop(deadline: Deadline): void {
    this.#running.delete(deadline);
  }

  /** Stops them all; none expires. */
  clear(): void {
    this.#running.clear();
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#wakeAt = Infinity;
  }

  #wakeBy(at: number): void {
    if (at >= this.#wakeAt) return;
    this.#wakeAt = at;
    clearTimeout(this.#timer);
    const wait = Math.min(Math.max(0, at - performance.now()), LONGEST_TIMER);
    this.#timer = setTimeout(this.#sweep, wait);
    this.#timer.unref();
  }

  readonly #sweep = (): void => {
    this.#timer = undefined;
    this.#wakeAt = Infinity;
    const time = performance.now();
    let next = Infinity;
    const expired: Deadline[] = [];
    for (const deadline of this.#running) {
      // A timer may fire a fraction of a millisecond early.
      if (deadline.at <= time + 1) expired.push(deadline);
      else if (deadline.at < next) next = deadline.at;
    }
    for (const deadline of expired.toSorted((a, b) => a.at - b.at)) {
      // One that expired before it may have stopped or restarted it.
      if (deadline.at <= time + 1 && this.#running.delete(deadline)) deadline.expire();
    }
    if (next < Infinity) this.#wakeBy(next);
  };
}
