import type { Rate } from "../../base/limit/rate-limiter.ts";
import type { SessionUpdate } from "../agent.ts";
import type { SessionClient, ShownUpdate } from "./client.ts";
import { fits, fitUpdate, roomIn } from "./fit-update.ts";
import { MergedUpdate } from "./merged-update.ts";

/** A stored update that is about to be sent to the attached clients. */
export interface PendingUpdate extends ShownUpdate {
  readonly update: SessionUpdate;
  /** JSON text of the update; empty where it was not serialized yet. */
  readonly text: string;
  /** The client that caused the update, which does not receive it. */
  readonly except?: SessionClient | undefined;
}

/** A queued update. Later ones are merged into it. */
interface QueuedUpdate {
  /** The last of those that were merged. */
  pending: PendingUpdate;
  readonly merged: MergedUpdate;
}

export interface DeliveryOptions {
  readonly rate: Rate | undefined;
  readonly maxSize: number;
  /** Sends an update to all attached clients but `except`. */
  readonly show: (shown: ShownUpdate, except: SessionClient | undefined) => void;
  readonly now?: () => number;
}

/** Shares of the rate: sent at once, unmerged before that, and spread over the window after it. */
const BURST = 0.9;
const UNMERGED = 0.45;
/**
 * The rest of the rate is for updates that cannot wait, and for updates that a client gets as several
 * messages.
 */
const PACED = 0.08;
/** Queued updates above which the agent has to wait. */
const CROWDED = 256;

/**
 * Sends updates in order, and in no window more than the rate allows (ACP message specification § Rate
 * Limiting); none is dropped. Most of the rate is sent at once. Updates that come together are merged once
 * half of that is used, and the last part of the rate is spread over the window: otherwise text would stop
 * until the end of the window.
 */
export class Delivery {
  readonly #options: DeliveryOptions;
  readonly #now: () => number;
  readonly #rate: Rate;
  /** When updates were sent in the last window. */
  readonly #sent: number[] = [];
  #waiting: QueuedUpdate[] = [];
  #timer: NodeJS.Timeout | undefined;
  #room: PromiseWithResolvers<void> | undefined;
  #drained: PromiseWithResolvers<void> | undefined;
  #last: number;

  constructor(last: number, options: DeliveryOptions) {
    this.#last = last;
    this.#options = options;
    this.#now = options.now ?? (() => performance.now());
    this.#rate = options.rate ?? { limit: Infinity, windowMs: 0 };
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
    if (this.#waiting.length === 0 && this.#count() < this.#rate.limit * UNMERGED) {
      this.#show(pending);
      return;
    }
    const before = this.#waiting.at(-1);
    const { except, isInLog, update } = pending;
    const isAlike = before?.pending.except === except && before?.pending.isInLog === isInLog;
    if (isAlike && before?.merged.add(update, roomIn(this.#options.maxSize)) === true) {
      before.pending = { ...pending, text: "" };
    } else this.#waiting.push({ pending, merged: new MergedUpdate(update) });
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

  /** Counts messages that were sent without waiting. */
  counts(messages = 1): void {
    if (this.#options.rate === undefined) return;
    for (let at = 0; at < messages; at++) this.#sent.push(this.#now());
  }

  /** How many updates were sent in the last window. */
  #count(): number {
    const since = this.#now() - this.#rate.windowMs;
    while ((this.#sent[0] ?? Infinity) <= since) this.#sent.shift();
    return this.#sent.length;
  }

  /** Milliseconds until the next update may be sent. */
  #pause(): number {
    const { limit, windowMs } = this.#rate;
    const count = this.#count();
    if (count < limit * BURST) return 0;
    const [first = 0] = this.#sent;
    const paced = (this.#sent.at(-1) ?? 0) + windowMs / (limit * PACED);
    const mayPace = count < limit * (BURST + PACED);
    const until = mayPace ? paced : Math.max(paced, first + windowMs);
    return Math.max(0, until - this.#now());
  }

  #wait(): void {
    if (this.#timer !== undefined) return;
    this.#timer = setTimeout(this.#next, Math.max(1, Math.ceil(this.#pause())));
    this.#timer.unref();
  }

  readonly #next = (): void => {
    this.#timer = undefined;
    while (this.#waiting.length > 0 && this.#pause() === 0) {
      const { pending, merged } = this.#waiting.shift() as QueuedUpdate;
      this.#show({ ...pending, update: merged.update });
    }
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
    const isWhole = text !== "" && fits(text, maxSize);
    for (const shown of isWhole ? [pending] : toShown(pending, maxSize)) {
      this.counts();
      show(shown, except);
    }
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
