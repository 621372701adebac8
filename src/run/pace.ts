import { untilAborted } from "../base/until-aborted.ts";

export interface PaceOptions {
  /** How many may begin at once. */
  readonly most: number;
  /** Milliseconds after which the next begins although none is done. */
  readonly longest: number;
}

/**
 * Lets work begin a little at a time, in order. Where a worker takes over what another had, all of it
 * would begin at once, and answers to clients would wait for a processor behind dozens of programs.
 * Work that takes long holds up nobody for longer than a moment.
 */
export class Pace {
  readonly #options: PaceOptions;
  readonly #waiting: (() => void)[] = [];
  #running = 0;

  constructor(options: PaceOptions) {
    this.#options = options;
  }

  /** Does the work when it is its turn. Rejects without having begun if the signal aborts before that. */
  async run<T>(work: () => Promise<T>, signal: AbortSignal): Promise<T> {
    const { most, longest } = this.#options;
    if (this.#running < most) this.#running++;
    else {
      const turn = Promise.withResolvers<void>();
      this.#waiting.push(turn.resolve);
      try {
        await untilAborted(turn.promise, signal);
      } catch (error) {
        const at = this.#waiting.indexOf(turn.resolve);
        // Otherwise its turn has come meanwhile, and is somebody else's.
        if (at === -1) this.#next();
        else this.#waiting.splice(at, 1);
        throw error;
      }
    }
    let isOver = false;
    const end = (): void => {
      if (isOver) return;
      isOver = true;
      clearTimeout(timer);
      this.#next();
    };
    const timer = setTimeout(end, longest).unref();
    try {
      return await work();
    } finally {
      end();
    }
  }

  #next(): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#running--;
    else next();
  }
}
