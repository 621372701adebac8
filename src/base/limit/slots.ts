import type { Stop } from "../stop.ts";

/** A number of slots. Whoever comes when all are taken waits, in the order of coming. */
export class Slots {
  readonly most: number;
  readonly #waiting = new Set<() => void>();
  #taken = 0;

  constructor(most: number) {
    this.most = most;
  }

  get taken(): number {
    return this.#taken;
  }

  get waiting(): number {
    return this.#waiting.size;
  }

  /** Takes a slot where there is one at once. */
  takeNow(): boolean {
    if (this.#taken >= this.most) return false;
    this.#taken++;
    return true;
  }

  /**
   * Takes a slot, to be given back with `leave`. Undefined where there is one at once; rejects with
   * the reason of the stop when that comes first, and then no slot was taken.
   */
  take(stop?: Stop): Promise<void> | undefined {
    if (this.takeNow()) return undefined;
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const enter = (): void => {
      stop?.remove(listener);
      resolve();
    };
    const listener = {
      stopped: (reason: Error): void => {
        this.#waiting.delete(enter);
        reject(reason);
      },
    };
    this.#waiting.add(enter);
    stop?.add(listener);
    return promise;
  }

  leave(): void {
    const [next] = this.#waiting;
    if (next === undefined) {
      this.#taken--;
      return;
    }
    // The slot changes hands: nobody who comes now can get between.
    this.#waiting.delete(next);
    next();
  }
}
