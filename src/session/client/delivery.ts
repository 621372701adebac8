import type { Rate } from "../../base/limit/rate-limiter.ts";
import type { SessionUpdate } from "../agent.ts";
import type { SessionClient, ShownUpdate } from "./client.ts";
import { fits, fitUpdate } from "./fit-update.ts";
import { mergeUpdates } from "./merge-updates.ts";

/** An update that is stored, on its way to whoever is attached. */
export interface PendingUpdate extends ShownUpdate {
  readonly update: SessionUpdate;
  /** Empty where it has not been made yet. */
  readonly text: string;
  /** Who need not be told, having said it. */
  readonly except?: SessionClient | undefined;
}

export interface DeliveryOptions {
  readonly rate: Rate | undefined;
  readonly maxSize: number;
  /** Undefined where all attached see it. */
  readonly show: (shown: ShownUpdate, except: SessionClient | undefined) => void;
  readonly now?: () => number;
}

/** Of the rate, this much may go out at once; the rest is spread over the window. */
const BURST = 0.4;
/** Updates that wait their turn, above which the agent has to wait too. */
const CROWDED = 256;

/**
 * Shows updates in their order and no faster than the rate. What comes faster waits, and is merged
 * with what already waits; nothing is dropped. Some go out at once and the others evenly after
 * them, so that text goes on flowing where it would else stand still for the rest of the window.
 */
export class Delivery {
  readonly #options: DeliveryOptions;
  readonly #now: () => number;
  readonly #burst: number;
  /** Updates for each millisecond. */
  readonly #flow: number;
  #allowance: number;
  #countedAt: number;
  #waiting: PendingUpdate[] = [];
  #timer: NodeJS.Timeout | undefined;
  #room: PromiseWithResolvers<void> | undefined;
  #drained: PromiseWithResolvers<void> | undefined;
  #last: number;

  constructor(last: number, options: DeliveryOptions) {
    this.#last = last;
    this.#options = options;
    this.#now = options.now ?? (() => performance.now());
    const { limit, windowMs } = options.rate ?? { limit: Infinity, windowMs: 1 };
    this.#burst = Math.max(1, Math.floor(limit * BURST));
    this.#flow = (limit - this.#burst) / windowMs;
    this.#allowance = this.#burst;
    this.#countedAt = this.#now();
  }

  /** The number of the last event that was shown. */
  get last(): number {
    return this.#last;
  }

  /** Passes an event that there is nothing to show of. */
  pass(seq: number): void {
    if (this.#waiting.length === 0) this.#last = seq;
  }

  push(pending: PendingUpdate): void {
    if (this.#waiting.length === 0 && this.#take()) {
      this.#show(pending);
      return;
    }
    const before = this.#waiting.at(-1);
    const merged =
      before === undefined || before.except !== pending.except
        ? undefined
        : mergeUpdates(before.update, pending.update, this.#options.maxSize / 8);
    if (merged === undefined) this.#waiting.push(pending);
    else this.#waiting[this.#waiting.length - 1] = { ...pending, update: merged, text: "" };
    this.#wait();
  }

  /** A promise for as long as too much waits. */
  get room(): Promise<void> | undefined {
    if (this.#waiting.length < CROWDED) return undefined;
    this.#room ??= Promise.withResolvers<void>();
    return this.#room.promise;
  }

  /** Resolves when nothing waits. */
  async drained(): Promise<void> {
    if (this.#waiting.length === 0) return;
    this.#drained ??= Promise.withResolvers<void>();
    await this.#drained.promise;
  }

  /** Shows nothing more. */
  close(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#waiting = [];
    this.#settle();
  }

  #take(): boolean {
    if (this.#allowance < 1) this.#refill();
    if (this.#allowance < 1) return false;
    this.#allowance--;
    return true;
  }

  #refill(): void {
    const now = this.#now();
    const earned = (now - this.#countedAt) * this.#flow;
    this.#countedAt = now;
    this.#allowance = Math.min(this.#burst, this.#allowance + earned);
  }

  #wait(): void {
    if (this.#timer !== undefined) return;
    const missing = Math.max(0, 1 - this.#allowance);
    this.#timer = setTimeout(this.#next, Math.max(1, Math.ceil(missing / this.#flow)));
    this.#timer.unref();
  }

  readonly #next = (): void => {
    this.#timer = undefined;
    while (this.#waiting.length > 0 && this.#take())
      this.#show(this.#waiting.shift() as PendingUpdate);
    if (this.#waiting.length > 0) this.#wait();
    this.#settle();
  };

  #settle(): void {
    if (this.#waiting.length < CROWDED) {
      this.#room?.resolve();
      this.#room = undefined;
    }
    if (this.#waiting.length === 0) {
      this.#drained?.resolve();
      this.#drained = undefined;
    }
  }

  #show(pending: PendingUpdate): void {
    const { maxSize, show } = this.#options;
    const { seq, text, except } = pending;
    this.#last = seq;
    if (text !== "" && fits(text, maxSize)) show(pending, except);
    else for (const shown of toShown(pending, maxSize)) show(shown, except);
  }
}

/** An update as it is sent: mostly one message, several where it is too large for one. */
export function toShown(pending: PendingUpdate, maxSize: number): ShownUpdate[] {
  const { seq, kind, update } = pending;
  const text = pending.text === "" ? JSON.stringify(update) : pending.text;
  const parts = fitUpdate(update, text, maxSize);
  if (parts.length === 1 && parts[0] === update) return [{ seq, kind, text }];
  return parts.map((part) => ({ seq, kind, text: JSON.stringify(part) }));
}
