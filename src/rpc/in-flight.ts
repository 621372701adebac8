import type { Call } from "./call.ts";

/** The other side's requests that have no answer yet. */
export class InFlight<S> {
  readonly #calls = new Map<string, Call<S>>();
  #whenIdle: (() => void) | undefined;

  get size(): number {
    return this.#calls.size;
  }

  get all(): Call<S>[] {
    return [...this.#calls.values()];
  }

  find(idText: string): Call<S> | undefined {
    return this.#calls.get(idText);
  }

  add(call: Call<S>): void {
    this.#calls.set(call.idText, call);
  }

  /** Marks a call as answered. Returns false when it already was, so that nothing answers twice. */
  settle(call: Call<S>): boolean {
    if (call.isSettled) return false;
    call.settle();
    this.#calls.delete(call.idText);
    if (this.#calls.size === 0) this.#whenIdle?.();
    return true;
  }

  /** Waits until all have their answers, at most `grace` milliseconds. */
  async drain(grace: number): Promise<void> {
    if (this.#calls.size === 0 || grace <= 0) return;
    const idle = Promise.withResolvers<void>();
    const timer = Number.isFinite(grace) ? setTimeout(idle.resolve, grace) : undefined;
    this.#whenIdle = idle.resolve;
    await idle.promise;
    clearTimeout(timer);
  }
}
