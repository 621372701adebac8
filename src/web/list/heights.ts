/**
 * The heights of a long list's rows: where a row begins, and which row is at a place, both in
 * logarithmic time (a Fenwick tree). Rows that were never shown have an estimated height.
 */
export class Heights {
  readonly #estimate: number;
  #heights: Float64Array;
  #tree: Float64Array;
  #count = 0;

  constructor(estimate: number) {
    this.#estimate = estimate;
    this.#heights = new Float64Array(64);
    this.#tree = new Float64Array(65);
  }

  get count(): number {
    return this.#count;
  }

  get total(): number {
    return this.offsetOf(this.#count);
  }

  heightOf(index: number): number {
    return this.#heights[index] ?? this.#estimate;
  }

  /** Adds rows at the end, or removes them there. */
  resize(count: number): void {
    if (count === this.#count) return;
    if (count < this.#count || count > this.#heights.length) {
      const kept = this.#heights.slice(0, Math.min(count, this.#count));
      this.#rebuild(kept, count);
      return;
    }
    const from = this.#count;
    this.#count = count;
    for (let index = from; index < count; index++) {
      this.#heights[index] = this.#estimate;
      this.#add(index, this.#estimate);
    }
  }

  /** Adds rows before the first one. */
  prepend(count: number): void {
    const heights = new Float64Array(this.#count + count).fill(this.#estimate);
    heights.set(this.#heights.subarray(0, this.#count), count);
    this.#rebuild(heights, heights.length);
  }

  /** Gives the difference to the former height. */
  set(index: number, height: number): number {
    const change = height - this.heightOf(index);
    if (index >= this.#count || change === 0) return 0;
    this.#heights[index] = height;
    this.#add(index, change);
    return change;
  }

  /** Where a row begins. */
  offsetOf(index: number): number {
    let sum = 0;
    for (let at = Math.min(index, this.#count); at > 0; at -= at & -at) sum += this.#tree[at] ?? 0;
    return sum;
  }

  /** The row that covers a place; the last one where the place is after the end. */
  indexAt(offset: number): number {
    let at = 0;
    let rest = offset;
    for (let step = 2 ** Math.floor(Math.log2(this.#count || 1)); step >= 1; step /= 2) {
      const next = at + step;
      if (next <= this.#count && (this.#tree[next] ?? 0) <= rest) {
        at = next;
        rest -= this.#tree[next] ?? 0;
      }
    }
    return Math.max(0, Math.min(at, this.#count - 1));
  }

  /** Nodes beyond the count hold sums of what is there, so that rows can be added at the end. */
  #add(index: number, change: number): void {
    for (let at = index + 1; at < this.#tree.length; at += at & -at) {
      this.#tree[at] = (this.#tree[at] ?? 0) + change;
    }
  }

  #rebuild(kept: Float64Array, count: number): void {
    const capacity = Math.max(64, 2 ** Math.ceil(Math.log2(count * 1.5 + 1)));
    this.#heights = new Float64Array(capacity);
    this.#heights.fill(this.#estimate, 0, count);
    this.#heights.set(kept);
    this.#tree = new Float64Array(capacity + 1);
    this.#count = count;
    for (let at = 1; at <= capacity; at++) {
      this.#tree[at] = (this.#tree[at] ?? 0) + (this.#heights[at - 1] ?? 0);
      const parent = at + (at & -at);
      if (parent <= capacity)
        this.#tree[parent] = (this.#tree[parent] ?? 0) + (this.#tree[at] ?? 0);
    }
  }
}
