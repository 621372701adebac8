/** What one guest may have done in a turn of the event loop before others have theirs. */
const MOST_WORK = 32;
const MOST_TIME = 2;

interface Share {
  /** Work that was begun in this turn, and the milliseconds that it took. */
  work: number;
  time: number;
  readonly waiting: (() => void)[];
}

/**
 * Shares the event loop between guests: in each turn everybody's work is begun, some of it, so that
 * who asks once does not wait for all that somebody else asks without a pause.
 */
export class FairTurns {
  readonly #shares = new Map<unknown, Share>();
  #isScheduled = false;

  /** Begins the work at once, or in a later turn where the guest has had its share of this one. */
  begin(guest: unknown, work: () => void): void {
    let share = this.#shares.get(guest);
    if (share === undefined) {
      share = { work: 0, time: 0, waiting: [] };
      this.#shares.set(guest, share);
    }
    if (share.waiting.length > 0 || isUsedUp(share)) share.waiting.push(work);
    else run(share, work);
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setImmediate(this.#turn);
  }

  readonly #turn = (): void => {
    for (const [guest, share] of [...this.#shares]) {
      share.work = 0;
      share.time = 0;
      let begun = 0;
      while (begun < share.waiting.length && !isUsedUp(share)) {
        const work = share.waiting[begun++];
        if (work !== undefined) run(share, work);
      }
      share.waiting.splice(0, begun);
      if (begun === 0) this.#shares.delete(guest);
    }
    this.#isScheduled = this.#shares.size > 0;
    if (this.#isScheduled) setImmediate(this.#turn);
  };
}

function isUsedUp({ work, time }: Share): boolean {
  return work >= MOST_WORK || time >= MOST_TIME;
}

function run(share: Share, work: () => void): void {
  const began = performance.now();
  work();
  share.work++;
  share.time += performance.now() - began;
}
