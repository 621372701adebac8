import type { MultiplexedStream } from "./multiplexed-stream.ts";

const FIRST_SIZE = 16;
/** A longer list of places is not kept once it is empty. */
const LARGEST_KEPT = 1024;

/**
 * The streams of a connection by their ids. A `Map` that each request goes through leaves tables behind
 * that keep its streams (base/chain.ts). Ids mostly follow each other, so that each has a place of its
 * own; whatever ids a peer chooses, at most as many places are looked at as it has streams.
 */
export class StreamTable {
  #places: (MultiplexedStream | undefined)[] = empty(FIRST_SIZE);
  #size = 0;

  get size(): number {
    return this.#size;
  }

  get(id: number): MultiplexedStream | undefined {
    return this.#places[this.#placeOf(id)];
  }

  has(id: number): boolean {
    return this.get(id) !== undefined;
  }

  /** Replaces the one with its id, if there is one. */
  add(stream: MultiplexedStream): void {
    // Half of the places stay free.
    if (2 * (this.#size + 1) > this.#places.length) this.#grow();
    const at = this.#placeOf(stream.id);
    if (this.#places[at] === undefined) this.#size++;
    this.#places[at] = stream;
  }

  delete(id: number): void {
    let free = this.#placeOf(id);
    if (this.#places[free] === undefined) return;
    this.#size--;
    this.#places[free] = undefined;
    if (this.#size === 0 && this.#places.length > LARGEST_KEPT) this.#places = empty(FIRST_SIZE);
    const mask = this.#places.length - 1;
    // Whoever found that place taken moves up, so that no search ends before it.
    for (let at = (free + 1) & mask; ; at = (at + 1) & mask) {
      const stream = this.#places[at];
      if (stream === undefined) return;
      const distance = (at - stream.id) & mask;
      if (distance < ((at - free) & mask)) continue;
      this.#places[free] = stream;
      this.#places[at] = undefined;
      free = at;
    }
  }

  all(): MultiplexedStream[] {
    return this.#places.filter((stream) => stream !== undefined);
  }

  /** Where a stream is, or would be. */
  #placeOf(id: number): number {
    const mask = this.#places.length - 1;
    let at = id & mask;
    for (;;) {
      const stream = this.#places[at];
      if (stream === undefined || stream.id === id) return at;
      at = (at + 1) & mask;
    }
  }

  #grow(): void {
    const streams = this.all();
    this.#places = empty(2 * this.#places.length);
    for (const stream of streams) this.#places[this.#placeOf(stream.id)] = stream;
  }
}

function empty(length: number): (MultiplexedStream | undefined)[] {
  return Array.from({ length });
}
