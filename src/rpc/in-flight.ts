import type { HeldId } from "./message/message.ts";
import type { Call } from "./call.ts";

/** The other side's requests that have no answer yet. */
export class InFlight<S> {
  readonly #calls = new Map<HeldId, Call<S>>();
  #idle: PromiseWithResolvers<void> | undefined;

  get size(): number {
    return this.#calls.size;
  }

  get all(): Call<S>[] {
    return [...this.#calls.values()];
  }

  has(id: HeldId): boolean {
    return this.#calls.has(id);
  }

  /** The call that a parsed id names; none where a number beyond JavaScript's may be several. */
  named(id: string | number): Call<S> | undefined {
    if (Number.isSafeInteger(id)) return this.#calls.get(id);
    const exact = this.#calls.get(JSON.stringify(id));
    if (exact !== undefined || typeof id === "string") return exact;
    const alike = this.all.filter((call) => Number(call.id) === id);
    return alike.length === 1 ? alike[0] : undefined;
  }

  add(call: Call<S>): void {
    this.#calls.set(call.id, call);
  }

  /** Marks a call as answered. False when it was: nothing answers twice. */
  settle(call: Call<S>): boolean {
    if (call.isSettled) return false;
    call.settle();
    this.#calls.delete(call.id);
    if (this.#calls.size === 0) {
      this.#idle?.resolve();
      this.#idle = undefined;
    }
    return true;
  }

  /** Waits for all answers, at most `grace` milliseconds. */
  async drain(grace: number): Promise<void> {
    if (this.#calls.size === 0 || grace <= 0) return;
    // Several may wait, each for its time.
    this.#idle ??= Promise.withResolvers<void>();
    const timeUp = Promise.withResolvers<void>();
    const timer = Number.isFinite(grace) ? setTimeout(timeUp.resolve, grace) : undefined;
    await Promise.race([this.#idle.promise, timeUp.promise]);
    clearTimeout(timer);
  }
}
