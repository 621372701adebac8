/**
 * Work that must not overlap: in one lane each piece starts when the one before it has settled, in
 * the order it came; lanes run side by side.
 */
export class Lanes {
  readonly #tails = new Map<string, Promise<unknown>>();

  /** Runs `work` at once when the lane is free, else when its turn comes. */
  enter<R>(lane: string, work: () => R | Promise<R>): R | Promise<R> {
    const before = this.#tails.get(lane);
    const result = before === undefined ? work() : before.then(work);
    if (!(result instanceof Promise)) return result;
    const leave = (): void => {
      if (this.#tails.get(lane) === tail) this.#tails.delete(lane);
    };
    const tail: Promise<unknown> = result.then(leave, leave);
    this.#tails.set(lane, tail);
    return result;
  }
}
