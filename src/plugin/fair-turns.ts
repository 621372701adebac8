import { now } from "../base/event-loop.ts";

/** What one guest may have done in a turn of the event loop before others have theirs. */
const MOST_WORK = 32;
const MOST_TIME = 2;
/** So much work of a guest is counted until more comes, and then as if it had been of the same turn. */
const FEW = 8;

interface Share {
  /** Work that was begun in this turn, and the milliseconds that it took. */
  work: number;
  time: number;
  readonly waiting: (() => void)[];
  /** It is counted anew in the next turn. */
  isListed: boolean;
}

/**
 * Shares the event loop between guests: in each turn everybody's work is begun, some of it, so that
 * who asks once does not wait for all that somebody else asks without a pause. To notice the end of a turn
 * costs as much as a small piece of work, so that is left out for who asks one by one.
 */
export class FairTurns {
  readonly #now: () => number;
  readonly #shares = new WeakMap<object, Share>();
  #listed: Share[] = [];
  #isScheduled = false;

  constructor(clock: () => number = now) {
    this.#now = clock;
  }

  /** Begins the work at once, or in a later turn where the guest has had its share of this one. */
  begin(guest: object, work: () => void): void {
    let share = this.#shares.get(guest);
    if (share === undefined) {
      share = { work: 0, time: 0, waiting: [], isListed: false };
      this.#shares.set(guest, share);
    }
    if (share.waiting.length > 0 || isUsedUp(share)) share.waiting.push(work);
    else this.#run(share, work);
    if (share.isListed || (share.work < FEW && share.waiting.length === 0)) return;
    share.isListed = true;
    this.#listed.push(share);
    this.#schedule();
  }

  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setImmediate(this.#turn);
  }

  readonly #turn = (): void => {
    const listed = this.#listed;
    this.#listed = [];
    for (const share of listed) {
      share.work = 0;
      share.time = 0;
      let begun = 0;
      while (begun < share.waiting.length && !isUsedUp(share)) {
        const work = share.waiting[begun++];
        if (work !== undefined) this.#run(share, work);
      }
      share.waiting.splice(0, begun);
      share.isListed = begun > 0;
      if (share.isListed) this.#listed.push(share);
    }
    this.#isScheduled = false;
    if (this.#listed.length > 0) this.#schedule();
  };

  #run(share: Share, work: () => void): void {
    const began = this.#now();
    work();
    share.work++;
    share.time += this.#now() - began;
  }
}

function isUsedUp({ work, time }: Share): boolean {
  return work >= MOST_WORK || time >= MOST_TIME;
}
