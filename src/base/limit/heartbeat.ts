import { background } from "../background.ts";

export interface HeartbeatOptions {
  /** Milliseconds between two beats. */
  readonly interval?: number | undefined;
  /** Whether anybody waits for an answer. If not, the other side may be silent. */
  readonly isWaiting: () => boolean;
  /** Asks the other side for a sign of life. */
  readonly beat: () => void;
  /** Whether the other process is known to be stopped (as by Ctrl-Z), so that it is given up sooner. */
  readonly isStopped?: (() => Promise<boolean>) | undefined;
  /** The other side has given no sign of life for too long. Called once. */
  readonly silent: () => void;
}

export const BEAT = 2_000;
/** Missed beats after which a peer is given up: one whose process is known to be stopped, and any other. */
const STOPPED = 4;
const SILENT = 15;

/**
 * Watches whether the other side of a connection still answers. It counts its own beats and no time: while
 * the machine sleeps or this process is stopped there are none, and after a late beat it counts from 0.
 */
export class Heartbeat implements Disposable {
  readonly #options: HeartbeatOptions;
  readonly #timer: NodeJS.Timeout;
  #missed = 0;
  #holds = 0;
  #isOver = false;

  constructor(options: HeartbeatOptions) {
    this.#options = options;
    this.#timer = eachInterval(options.interval ?? BEAT, (isLate) => this.#beat(isLate));
  }

  /** The other side has sent something. While `hold` is pending, this side does not read on. */
  heard(hold?: void | Promise<void>): void {
    this.#missed = 0;
    if (hold === undefined) return;
    this.#holds++;
    const readsOn = (): void => {
      this.#holds--;
    };
    hold.then(readsOn, readsOn);
  }

  [Symbol.dispose](): void {
    this.#isOver = true;
    clearInterval(this.#timer);
  }

  #beat(isLate: boolean): void {
    const { isWaiting, beat } = this.#options;
    if (isLate || this.#holds > 0 || !isWaiting()) {
      this.#missed = 0;
      return;
    }
    this.#missed++;
    if (this.#missed >= SILENT) return this.#giveUp();
    if (this.#missed >= STOPPED) background(this.#look(), "Looking whether a process is stopped");
    beat();
  }

  async #look(): Promise<void> {
    const isStopped = await this.#options.isStopped?.();
    if (isStopped === true && this.#missed >= STOPPED) this.#giveUp();
  }

  #giveUp(): void {
    if (this.#isOver) return;
    this[Symbol.dispose]();
    this.#options.silent();
  }
}

/** A timer that knows whether this process was stopped, or too busy to notice, since the last time. */
export function eachInterval(interval: number, tick: (isLate: boolean) => void): NodeJS.Timeout {
  let last = performance.now();
  return setInterval(() => {
    const now = performance.now();
    const isLate = now - last > 2 * interval;
    last = now;
    tick(isLate);
  }, interval).unref();
}
