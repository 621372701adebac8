import type { HeldId } from "./message/message.ts";
import type { Call } from "./call.ts";

/**
 * Requests in flight are in a new map whenever there were none, and after so many at the latest. V8
 * makes a new table for a map whenever about as many entries have come and gone as it holds, and each
 * table refers to the next. When one of them has got into the old heap, all later ones stay, with every
 * request that was in them, until the whole heap is collected. A new map is not referred to.
 */
export const RENEW_AFTER = 4096;

/** The other side's requests that have no answer yet. */
export class InFlight<S> {
  #calls = new Map<HeldId, Call<S>>();
  #added = 0;
  #idle: PromiseWithResolvers<void> | undefined;

  get size(): number {
    return this.#calls.size;
  }

  get all(): Call<S>[] {
    return [...this.#calls.values()];
  }

  has(id: HeldId): boolean {
    // Looking for a text takes its hash, which costs as much as the rest of a call's way, even in vain.
    return this.#calls.size > 0 && this.#calls.has(id);
  }

  #find(id: HeldId): Call<S> | undefined {
    return this.#calls.get(id);
  }

  /** The call that a parsed id names; none where a number beyond JavaScript's may be several. */
  named(id: string | number): Call<S> | undefined {
    if (Number.isSafeInteger(id)) return this.#find(id);
    const exact = this.#find(JSON.stringify(id));
    if (exact !== undefined || typeof id === "string") return exact;
    const alike = this.all.filter((call) => Number(call.id) === id);
    return alike.length === 1 ? alike[0] : undefined;
  }

  add(call: Call<S>): void {
    if (++this.#added % RENEW_AFTER === 0) this.#calls = new Map(this.#calls);
    this.#calls.set(call.id, call);
  }

  /** Marks a call as answered. False when it was: nothing answers twice. */
  settle(call: Call<S>): boolean {
    if (call.isSettled) return false;
    call.settle();
    this.#calls.delete(call.id);
    if (this.#calls.size === 0) {
      this.#calls = new Map();
      this.#added = 0;
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
