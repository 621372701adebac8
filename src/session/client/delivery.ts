import type { Rate } from "../../base/limit/rate-limiter.ts";
import type { SessionUpdate } from "../agent.ts";
import type { SessionClient, ShownUpdate } from "./client.ts";
import { fits, fitUpdate, roomIn } from "./fit-update.ts";
import { mergeUpdates } from "./merge-updates.ts";

/** A stored update that is about to be sent to the attached clients. */
export interface PendingUpdate extends ShownUpdate {
  readonly update: SessionUpdate;
  /** JSON text of the update; empty where it was not serialized yet. */
  readonly text: string;
  /** The client that caused the update, which does not receive it. */
  readonly except?: SessionClient | undefined;
}

/** A queued update. Later text is merged into it. */
interface QueuedUpdate extends PendingUpdate {
  /** Bytes of its JSON, once text was merged into it. */
  readonly bytes?: number | undefined;
}

export interface DeliveryOptions {
  readonly rate: Rate | undefined;
  readonly maxSize: number;
  /** Sends an update to all attached clients but `except`. */
  readonly show: (shown: ShownUpdate, except: SessionClient | undefined) => void;
  readonly now?: () => number;
}

/** Share of the rate that may be sent at once; the rest is spread over the window. */
const BURST = 0.4;
/** Queued updates above which the agent has to wait. */
const CROWDED = 256;

/**
 * Sends updates in order and no faster than the rate (ACP message specification § Rate Limiting). Updates
 * above the rate are queued and merged; none is dropped. A burst is sent at once and the rest evenly
 * over the window: otherwise text would stop until the end of the window.
 */
export class Delivery {
  readonly #options: DeliveryOptions;
  readonly #now: () => number;
  readonly #burst: number;
  /** Updates per millisecond. */
  readonly #flow: number;
  #allowance: number;
  #countedAt: number;
  #waiting: QueuedUpdate[] = [];
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

  /** Number of the last event that was sent. */
  get last(): number {
    return this.#last;
  }

  /** Counts an event that is not shown to clients. */
  pass(seq: number): void {
    if (this.#waiting.length === 0) this.#last = seq;
  }

  push(pending: PendingUpdate): void {
    if (this.#waiting.length === 0 && this.#take()) {
      this.#show(pending);
      return;
    }
    const before = this.#waiting.at(-1);
    const isAlike = before?.except === pending.except && before?.isInLog === pending.isInLog;
    const merged =
      before !== undefined && isAlike
        ? mergeUpdates(before, pending.update, roomIn(this.#options.maxSize))
        : undefined;
    if (merged === undefined) this.#waiting.push(pending);
    else this.#waiting[this.#waiting.length - 1] = { ...pending, ...merged, text: "" };
    this.#wait();
  }

  /** A promise that resolves when the queue is short again; undefined while it is. */
  get room(): Promise<void> | undefined {
    if (this.#waiting.length < CROWDED) return undefined;
    this.#room ??= Promise.withResolvers<void>();
    return this.#room.promise;
  }

  /** Resolves when the queue is empty. */
  async drained(): Promise<void> {
    if (this.#waiting.length === 0) return;
    this.#drained ??= Promise.withResolvers<void>();
    await this.#drained.promise;
  }

  /** Drops the queue and sends nothing more. */
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
      this.#show(this.#waiting.shift() as QueuedUpdate);
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

/** The messages for an update: one, or several where it exceeds the size limit. */
export function toShown(pending: PendingUpdate, maxSize: number): ShownUpdate[] {
  const { seq, kind, isInLog } = pending;
  const text = pending.text === "" ? JSON.stringify(pending.update) : pending.text;
  if (fits(text, maxSize)) return [{ seq, kind, text, isInLog }];
  const parts = fitUpdate(pending.update, text, maxSize);
  return parts.map((part) => ({ seq, kind, text: JSON.stringify(part), isInLog }));
}
