/**
 * The heights of a long list's rows: where a row begins, and which row is at a place. Rows that were
 * never shown have an estimated height.
 */
export class RowHeights {
  readonly #estimate: number;
  #heights: number[] = [];
  /** Where each row begins, and the end of the last one; undefined after a change. */
  #offsets: Float64Array | undefined;

  constructor(estimate: number) {
    this.#estimate = estimate;
  }

  get count(): number {
    return this.#heights.length;
  }

  get total(): number {
    return this.offsetOf(this.count);
  }

  heightOf(index: number): number {
    return this.#heights[index] ?? this.#estimate;
  }

  /** Adds rows at the end, or removes them there. */
  resize(count: number): void {
    if (count === this.count) return;
    this.#heights.length = Math.min(count, this.count);
    while (this.count < count) this.#heights.push(this.#estimate);
    this.#offsets = undefined;
  }

  /** Adds rows before the first one. */
  prepend(count: number): void {
    this.#heights = [...Array<number>(count).fill(this.#estimate), ...this.#heights];
    this.#offsets = undefined;
  }

  /** Gives the difference to the former height. */
  set(index: number, height: number): number {
    const change = height - this.heightOf(index);
    if (index >= this.count || change === 0) return 0;
    this.#heights[index] = height;
    this.#offsets = undefined;
    return change;
  }

  /** Where a row begins. */
  offsetOf(index: number): number {
    return this.#begins[Math.min(index, this.count)] ?? 0;
  }

  /** The row that covers a place; the last one where the place is after the end. */
  indexAt(offset: number): number {
    let low = 0;
    let high = Math.max(0, this.count - 1);
    while (low < high) {
      const middle = Math.ceil((low + high) / 2);
      if (this.offsetOf(middle) <= offset) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  get #begins(): Float64Array {
    if (this.#offsets !== undefined) return this.#offsets;
    const offsets = new Float64Array(this.count + 1);
    for (const [index, height] of this.#heights.entries()) {
      offsets[index + 1] = (offsets[index] ?? 0) + height;
    }
    this.#offsets = offsets;
    return offsets;
  }
}
