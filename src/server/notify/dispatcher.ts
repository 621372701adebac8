import { TrunklineError } from "../../base/errors.ts";
import { background } from "../../base/background.ts";
import type { Log } from "../../base/log.ts";
import type { Delivery, DeliveryQueue, Outcome } from "../../store/notify/notify-store.ts";

export interface DispatcherOptions {
  /** The queue. Throws while it cannot be opened. */
  readonly queue: () => Promise<DeliveryQueue>;
  /** Keys of the entries whose notifications this process sends. */
  readonly entries: readonly string[];
  /** Sends one. Throws if that fails for a reason that may go away. */
  readonly send: (delivery: Delivery, signal: AbortSignal) => Promise<Sending>;
  readonly log: Log;
  /** Milliseconds before the second attempt; each further one waits twice as long. */
  readonly firstWait?: number | undefined;
  /** Milliseconds between two looks for deliveries that other processes have left in the queue. */
  readonly lookEvery?: number | undefined;
}

/** The result of sending; "retry" becomes a pending delivery, or a failed one after the last attempt. */
export interface Sending {
  readonly state: "delivered" | "failed" | "withdrawn" | "retry";
  readonly result: string;
  readonly after?: number | undefined;
}

const FIRST_WAIT = 5_000;
const LONGEST_WAIT = 60 * 60_000;
const MOST_ATTEMPTS = 12;
const LOOK_EVERY = 5_000;
/** Notifications that are sent at once. */
const AT_ONCE = 8;
/** Milliseconds that sending may take when the program stops. Later ones stay in the queue. */
const STOP_GRACE = 1_000;

/** Sends the notifications of the queue, and tries failed ones again. */
export class Dispatcher implements AsyncDisposable {
  readonly #options: DispatcherOptions;
  readonly #sending = new Set<Promise<void>>();
  readonly #stop = new AbortController();
  /** Results of attempts that could not be stored yet. No other process takes these deliveries while this one runs. */
  readonly #unstored = new Map<Delivery, Outcome>();
  #timer: NodeJS.Timeout | undefined;
  #look: Promise<void> | undefined;
  #isAskedAgain = false;
  #isOver = false;

  constructor(options: DispatcherOptions) {
    this.#options = options;
  }

  /** Looks for deliveries that are due. */
  wake(): void {
    if (this.#isOver) return;
    this.#isAskedAgain = true;
    this.#look ??= this.#lookAll().finally(() => {
      this.#look = undefined;
      if (this.#isAskedAgain) this.wake();
    });
    background(this.#look, "Sending notifications");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isOver = true;
    clearTimeout(this.#timer);
    await this.#look?.catch(() => {});
    const stopped = new TrunklineError("closed", "Trunkline was stopped");
    const late = setTimeout(() => this.#stop.abort(stopped), STOP_GRACE);
    await Promise.all(this.#sending);
    clearTimeout(late);
    try {
      await this.#storeOutcomes();
    } catch (error) {
      // The next process that reads the queue sends them again.
      this.#options.log.error("notify.not-recorded", { error });
    }
  }

  async #lookAll(): Promise<void> {
    const { log } = this.#options;
    clearTimeout(this.#timer);
    let due: number | undefined;
    try {
      while (this.#isAskedAgain && !this.#isOver) {
        this.#isAskedAgain = false;
        await this.#storeOutcomes();
        due = await this.#start();
      }
    } catch (error) {
      this.#isAskedAgain = false;
      // The next look tries it again.
      log.warn("notify.queue", { error });
    }
    if (this.#isOver) return;
    const { lookEvery = LOOK_EVERY } = this.#options;
    const wait = due === undefined ? lookEvery : Math.min(lookEvery, due - Date.now());
    this.#timer = setTimeout(() => this.wake(), Math.max(10, wait)).unref();
  }

  /** Starts the deliveries that are due. Returns when the next one is. */
  async #start(): Promise<number | undefined> {
    const { entries } = this.#options;
    const queue = await this.#options.queue();
    const room = AT_ONCE - this.#sending.size;
    // The end of a sending wakes us again.
    if (room <= 0) return undefined;
    for (const delivery of await queue.take(entries, room)) {
      const sending = this.#send(delivery).finally(() => {
        this.#sending.delete(sending);
        this.wake();
      });
      this.#sending.add(sending);
    }
    return await queue.nextDue(entries);
  }

  async #send(delivery: Delivery): Promise<void> {
    const { queue, send, log } = this.#options;
    const { signal } = this.#stop;
    let sent: Sending;
    try {
      sent = await send(delivery, signal);
    } catch (error) {
      sent = { state: "retry", result: (error as Error).message };
    }
    try {
      const isStopped = signal.aborted && sent.state === "retry";
      if (isStopped) return await (await queue()).release(delivery);
      const outcome = this.#outcomeOf(delivery, sent);
      const { receiver } = delivery;
      const { state, result } = outcome;
      if (state === "delivered") log.debug("notify.delivered", { receiver, result });
      else log.warn("notify.not-delivered", { receiver, state, result });
      this.#unstored.set(delivery, outcome);
      await this.#storeOutcomes();
    } catch (error) {
      // The next look tries it again.
      log.error("notify.not-recorded", { error });
    }
    return undefined;
  }

  /** Stores the results of attempts. If that throws, they are kept for the next time. */
  async #storeOutcomes(): Promise<void> {
    if (this.#unstored.size === 0) return;
    const queue = await this.#options.queue();
    for (const [delivery, outcome] of this.#unstored) {
      // Two calls may overlap: each outcome is recorded by one of them.
      this.#unstored.delete(delivery);
      try {
        await queue.tried(delivery, outcome);
      } catch (error) {
        this.#unstored.set(delivery, outcome);
        throw error;
      }
    }
  }

  #outcomeOf({ attempts }: Delivery, { state, result, after }: Sending): Outcome {
    if (state !== "retry") return { state, result };
    if (attempts + 1 >= MOST_ATTEMPTS) {
      return { state: "failed", result: `given up after ${attempts + 1} attempts: ${result}` };
    }
    const { firstWait = FIRST_WAIT } = this.#options;
    const wait = Math.min(LONGEST_WAIT, Math.max(after ?? 0, firstWait * 2 ** attempts));
    return { state: "pending", result, due: Date.now() + wait };
  }
}
