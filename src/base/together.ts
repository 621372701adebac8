/**
 * Shares one run of some work among the callers of a key. A call that comes while the work runs waits for
 * the next run: something may have changed since the present one began.
 */
export class Together<T> {
  readonly #running = new Map<string, Promise<T>>();
  readonly #next = new Map<string, Promise<T>>();

  ask(key: string, work: () => Promise<T>): Promise<T> {
    const running = this.#running.get(key);
    if (running === undefined) return this.#begin(key, work);
    const waiting = this.#next.get(key);
    if (waiting !== undefined) return waiting;
    const next = running
      .catch(() => {})
      .then(() => {
        this.#next.delete(key);
        return this.#begin(key, work);
      });
    this.#next.set(key, next);
    return next;
  }

  #begin(key: string, work: () => Promise<T>): Promise<T> {
    const running = work().finally(() => {
      if (this.#running.get(key) === running) this.#running.delete(key);
    });
    this.#running.set(key, running);
    return running;
  }
}
