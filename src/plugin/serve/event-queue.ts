import type { BusEvent } from "./events.ts";

/** What waits of one source. */
interface Waiting {
  readonly events: BusEvent[];
  bytes: number;
}

/** Of each source, for one subscriber. */
const MOST_EVENTS = 1_000;
const MOST_BYTES = 4 * 1024 * 1024;

/**
 * Events that wait for one subscriber: those of each source in order, and the sources in turn. One
 * that publishes without a pause loses events of its own, and never those of others.
 */
export class EventQueue {
  /** The source whose turn it is comes first. */
  readonly #sources = new Map<string, Waiting>();

  /** Returns how many were dropped for it. */
  add(event: BusEvent): number {
    const { source, bytes = 0 } = event;
    let waiting = this.#sources.get(source);
    if (waiting === undefined) this.#sources.set(source, (waiting = { events: [], bytes: 0 }));
    waiting.events.push(event);
    waiting.bytes += bytes;
    let dropped = 0;
    // The newest is kept in any case: there is nothing better to have in its place.
    while (waiting.events.length > 1 && isTooMuch(waiting)) {
      waiting.bytes -= waiting.events.shift()?.bytes ?? 0;
      dropped++;
    }
    return dropped;
  }

  next(): BusEvent | undefined {
    for (const [source, waiting] of this.#sources) {
      const event = waiting.events.shift();
      this.#sources.delete(source);
      if (event === undefined) continue;
      waiting.bytes -= event.bytes ?? 0;
      if (waiting.events.length > 0) this.#sources.set(source, waiting);
      return event;
    }
    return undefined;
  }
}

function isTooMuch({ events, bytes }: Waiting): boolean {
  return events.length > MOST_EVENTS || bytes > MOST_BYTES;
}
