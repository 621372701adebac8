import { onAbort } from "../abort.ts";
import { TrunklineError } from "../errors.ts";

export interface SemaphoreLimits {
  /** Slots that may be taken at once; any number if it is left out. */
  readonly running?: number;
  /** The same for one key. */
  readonly runningEach?: number;
  /** Entries of one key that may wait. */
  readonly waitingEach?: number;
  /** The message of the error for a key that has too many entries waiting. */
  readonly refusal?: (waiting: number) => string;
}

export interface EnterOptions {
  /** Whose slot it is: keys take turns. */
  readonly key?: string;
  /** Gives up waiting. A slot that was taken stays taken. */
  readonly signal?: AbortSignal | undefined;
  /** Called with the position in the queue, from 1, when the entry has to wait and when it moves up. */
  readonly moved?: (position: number) => void;
}

interface Entry extends EnterOptions {
  readonly key: string;
  /** Counts entries in the order in which they came. */
  readonly number: number;
  readonly start: (slot: Disposable) => void;
}

/** How many keys are remembered with their last slot. */
const MOST_SERVED = 1_000;

/**
 * A number of slots. An entry that finds none free waits. Keys take turns, so that one with many entries
 * does not delay another with few; entries of one key keep their order.
 */
export class Semaphore {
  readonly #limits: Required<SemaphoreLimits>;
  readonly #running = new Map<string, number>();
  readonly #waiting = new Map<string, Set<Entry>>();
  /** When each key last got a slot, as a number in the order of all slots. */
  readonly #served = new Map<string, number>();
  #given = 0;
  #entered = 0;
  #total = 0;

  constructor(limits: SemaphoreLimits) {
    const none = { running: Infinity, runningEach: Infinity, waitingEach: Infinity };
    const refusal = (): string => "Too much waits already. Try again later.";
    this.#limits = { ...none, refusal, ...limits };
  }

  /** How many slots are taken. */
  get running(): number {
    return this.#total;
  }

  get waiting(): number {
    return this.#entries().length;
  }

  /** Whether an entry of the key would get a slot at once. */
  isFree(key = ""): boolean {
    const { running, runningEach } = this.#limits;
    return this.#total < running && this.#countOf(key) < runningEach;
  }

  /**
   * Waits for a slot, which is released when it is disposed. Rejects with the signal's reason when
   * that comes first, and with "limit" where too many entries of the key wait already.
   */
  enter(options: EnterOptions = {}): Promise<Disposable> {
    const { key = "", signal, moved } = options;
    if (this.isFree(key)) return Promise.resolve(this.#take(key));
    const own = this.#waiting.getOrInsertComputed(key, () => new Set());
    if (own.size >= this.#limits.waitingEach) {
      return Promise.reject(new TrunklineError("limit", this.#limits.refusal(own.size)));
    }
    const { promise, resolve, reject } = Promise.withResolvers<Disposable>();
    const start = (slot: Disposable): void => {
      stopListening();
      resolve(slot);
    };
    const entry: Entry = { ...options, key, number: this.#entered++, start };
    own.add(entry);
    const stopListening = onAbort(signal, (reason) => {
      this.#leave(entry);
      this.#tell();
      reject(reason);
    });
    if (moved !== undefined && own.has(entry)) moved(this.#order().indexOf(entry) + 1);
    return promise;
  }

  /** Does work in a slot, which is held until the work is done, or for so many milliseconds. */
  async run<T>(
    work: () => T | Promise<T>,
    { longest, ...options }: EnterOptions & { readonly longest?: number } = {},
  ): Promise<T> {
    using slot = await this.enter(options);
    const release = (): void => slot[Symbol.dispose]();
    using _timer = longest === undefined ? undefined : setTimeout(release, longest).unref();
    return await work();
  }

  #take(key: string): Disposable {
    this.#total++;
    this.#running.set(key, this.#countOf(key) + 1);
    this.#served.delete(key);
    this.#served.set(key, ++this.#given);
    const [oldest] = this.#served.keys();
    if (this.#served.size > MOST_SERVED && oldest !== undefined) this.#served.delete(oldest);
    let isTaken = true;
    return {
      [Symbol.dispose]: () => {
        if (!isTaken) return;
        isTaken = false;
        this.#total--;
        const left = this.#countOf(key) - 1;
        if (left === 0) this.#running.delete(key);
        else this.#running.set(key, left);
        for (let next = this.#next(); next !== undefined; next = this.#next()) {
          this.#leave(next);
          next.start(this.#take(next.key));
        }
        this.#tell();
      },
    };
  }

  #leave(entry: Entry): void {
    const own = this.#waiting.get(entry.key);
    own?.delete(entry);
    if (own?.size === 0) this.#waiting.delete(entry.key);
  }

  /** Whose turn it is: the key with the fewest slots comes first, then the one served longest ago. */
  #next(): Entry | undefined {
    const firsts = [...this.#waiting.values()].flatMap(([first]) => first ?? []);
    const free = firsts.filter(({ key }) => this.isFree(key));
    return free.length < 2 ? free[0] : this.#ranked(free)[0];
  }

  #entries(): Entry[] {
    return [...this.#waiting.values()].flatMap((own) => [...own]);
  }

  #order(): Entry[] {
    return this.#ranked(this.#entries());
  }

  #ranked(entries: readonly Entry[]): Entry[] {
    const ahead = new Map<string, number>();
    const ranked = entries.map((entry) => {
      const before = ahead.get(entry.key) ?? this.#countOf(entry.key);
      ahead.set(entry.key, before + 1);
      return { entry, before, served: this.#served.get(entry.key) ?? 0 };
    });
    return ranked
      .toSorted(
        (one, other) =>
          one.before - other.before ||
          one.served - other.served ||
          one.entry.number - other.entry.number,
      )
      .map(({ entry }) => entry);
  }

  /** Tells entries their positions, if any entry wants to know. */
  #tell(): void {
    if (!this.#entries().some(({ moved }) => moved !== undefined)) return;
    for (const [index, { moved }] of this.#order().entries()) moved?.(index + 1);
  }

  #countOf(key: string): number {
    return this.#running.get(key) ?? 0;
  }
}
