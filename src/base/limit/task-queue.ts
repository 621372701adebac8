/**
 * Runs the work of one key in order, each piece after the one before it has settled. Different keys run
 * concurrently.
 */
export class TaskQueue {
  readonly #tails = new Map<string, Promise<void>>();

  /** Runs `work` at once when nothing of the key runs, else when its turn comes. */
  async run<R>(work: () => R | Promise<R>, key = ""): Promise<R> {
    const before = this.#tails.get(key);
    const result = before === undefined ? (async () => work())() : before.then(work);
    const leave = (): void => {
      if (this.#tails.get(key) === tail) this.#tails.delete(key);
    };
    const tail: Promise<void> = result.then(leave, leave);
    this.#tails.set(key, tail);
    return result;
  }

  /** Resolves when all work of the key has settled. */
  async idle(key = ""): Promise<void> {
    await this.#tails.get(key);
  }
}
