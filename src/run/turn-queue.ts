import { TrunklineError } from "../base/errors.ts";
import type { Stop } from "../base/stop.ts";

export interface QueueLimits {
  /** Turns that may run at once. */
  readonly running: number;
  /** Turns of one principal that may run at once. */
  readonly runningEach: number;
  /** Turns of one principal that may wait. */
  readonly waitingEach: number;
}

interface Waiting {
  readonly owner: string;
  readonly start: (slot: Disposable) => void;
  readonly moved: (position: number) => void;
}

/** How many principals are remembered with their last slot. */
const MOST_SERVED = 1_000;

/**
 * Decides which turns run if there are more turns than slots. Principals take turns, so that one with many
 * turns does not delay another with few.
 */
export class TurnQueue {
  readonly #limits: QueueLimits;
  /** The number of running turns of each principal. */
  readonly #running = new Map<string, number>();
  readonly #waiting: Waiting[] = [];
  /** When each principal last got a slot, as a number in the order of all slots. */
  readonly #served = new Map<string, number>();
  #given = 0;
  #total = 0;

  constructor(limits: QueueLimits) {
    this.#limits = limits;
  }

  get size(): { readonly running: number; readonly waiting: number } {
    return { running: this.#total, waiting: this.#waiting.length };
  }

  /** Waits for a slot, which is released when it is disposed. `moved` is called with the position. */
  enter(owner: string, stop: Stop, moved: (position: number) => void): Promise<Disposable> {
    const { waitingEach } = this.#limits;
    const waits = this.#waiting.filter((it) => it.owner === owner).length;
    if (waits >= waitingEach) {
      const why = `${waits} of your turns already wait, which is the limit. Wait until one has ended`;
      return Promise.reject(new TrunklineError("limit", `Cannot queue another turn: ${why}.`));
    }
    return new Promise((resolve, reject) => {
      const listener = {
        stopped: (reason: Error) => {
          this.#waiting.splice(this.#waiting.indexOf(waiting), 1);
          this.#tell();
          reject(reason);
        },
      };
      const start = (slot: Disposable): void => {
        stop.remove(listener);
        resolve(slot);
      };
      const waiting: Waiting = { owner, start, moved };
      this.#waiting.push(waiting);
      stop.add(listener);
      this.#fill();
      if (this.#waiting.includes(waiting)) moved(this.#order().indexOf(waiting) + 1);
    });
  }

  #fill(): void {
    for (const next of this.#order()) {
      if (this.#total >= this.#limits.running) break;
      if (this.#countOf(next.owner) >= this.#limits.runningEach) continue;
      this.#waiting.splice(this.#waiting.indexOf(next), 1);
      this.#total++;
      this.#served.delete(next.owner);
      this.#served.set(next.owner, ++this.#given);
      for (const [owner] of this.#served) {
        if (this.#served.size <= MOST_SERVED) break;
        this.#served.delete(owner);
      }
      this.#running.set(next.owner, this.#countOf(next.owner) + 1);
      next.start(this.#slot(next.owner));
    }
  }

  #slot(owner: string): Disposable {
    let isTaken = true;
    return {
      [Symbol.dispose]: () => {
        if (!isTaken) return;
        isTaken = false;
        this.#total--;
        const left = this.#countOf(owner) - 1;
        if (left === 0) this.#running.delete(owner);
        else this.#running.set(owner, left);
        this.#fill();
        this.#tell();
      },
    };
  }

  /** The principal with the fewest running turns comes first, then the one served longest ago. */
  #order(): Waiting[] {
    const ahead = new Map<string, number>();
    const ranked = this.#waiting.map((waiting, index) => {
      const before = ahead.get(waiting.owner) ?? this.#countOf(waiting.owner);
      ahead.set(waiting.owner, before + 1);
      return { waiting, before, served: this.#served.get(waiting.owner) ?? 0, index };
    });
    return ranked
      .toSorted(
        (one, other) =>
          one.before - other.before || one.served - other.served || one.index - other.index,
      )
      .map(({ waiting }) => waiting);
  }

  #tell(): void {
    for (const [index, waiting] of this.#order().entries()) waiting.moved(index + 1);
  }

  #countOf(owner: string): number {
    return this.#running.get(owner) ?? 0;
  }
}
