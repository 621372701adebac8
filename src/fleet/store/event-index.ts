import type { MessageHead } from "../ownership/journal.ts";

/** Bytes of small messages that make up one entry, so that long sessions have few. */
const TOGETHER = 64 * 1024;

/** Consecutive messages of a session. */
interface Part {
  /** Numbers of events: the first one that begins here, and the last one that is complete. */
  readonly first: number;
  last: number;
  /** Sequences of the first message and the last one. */
  readonly from: number;
  to: number;
  size: number;
  /** The event goes on in the next part. */
  readonly more: boolean;
}

/** Messages to read, by sequence. */
export interface Stretch {
  readonly from: number;
  readonly to: number;
}

/** In which messages of a session an event is, so that reading it does not begin with the first one. */
export class EventIndex {
  /** The epoch in which the session was created. */
  readonly born: number;
  readonly #parts: Part[] = [];

  constructor(born: number) {
    this.born = born;
  }

  /** Adds the next message. One that it has already is ignored. */
  add({ epoch, sequence, first, last, size, more }: MessageHead): void {
    const before = this.#parts.at(-1);
    if (epoch < this.born || sequence <= (before?.to ?? 0)) return;
    if (before === undefined || before.more || more || before.size + size > TOGETHER) {
      this.#parts.push({ first, last, from: sequence, to: sequence, size, more });
      return;
    }
    before.last = last;
    before.to = sequence;
    before.size += size;
  }

  /** Where events from a number on are; undefined if there are none yet. */
  after(from: number): Stretch | undefined {
    const at = this.#placeOf(from);
    const part = this.#parts[this.#beginningOf(at)];
    const last = this.#parts.at(-1);
    return part && last && { from: part.from, to: last.to };
  }

  /** Where the last events before a number are: about `count`, or about so many bytes. */
  before(number: number, count: number, bytes: number): Stretch | undefined {
    const end = Math.min(this.#placeOf(number - 1), this.#parts.length - 1);
    let at = end;
    let size = 0;
    for (; at > 0; at--) {
      const part = this.#parts[at] as Part;
      size += part.size;
      if (part.first <= number - count || size >= bytes) break;
    }
    const [part, last] = [this.#parts[this.#beginningOf(at)], this.#parts[end]];
    return part && last && { from: part.from, to: last.to };
  }

  /** The first part with which an event is complete. */
  #placeOf(number: number): number {
    let low = 0;
    let high = this.#parts.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#parts[middle] as Part).last < number) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** The part in which the event begins that is complete with this one. */
  #beginningOf(at: number): number {
    let begin = at;
    while (this.#parts[begin - 1]?.more === true) begin--;
    return begin;
  }
}
