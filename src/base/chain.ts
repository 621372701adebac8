/** What can be in a chain, and in one only. Its two members are the chain's. */
export interface Link<T> {
  before?: T | undefined;
  after?: T | undefined;
}

/**
 * A set whose items know their neighbours, for what comes and goes with each request. V8 makes a new
 * table for a set whenever about as many items have come and gone as it holds, and each table refers to
 * the next one. When one of them has got into the old heap, all later ones stay, with every item that
 * was in them, until the whole heap is collected. An item that has left a chain refers to no other.
 */
export class Chain<T extends Link<T>> {
  #first: T | undefined;
  #last: T | undefined;
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** The item that was added first. */
  get first(): T | undefined {
    return this.#first;
  }

  /** The item that was added last. */
  get last(): T | undefined {
    return this.#last;
  }

  has(item: T): boolean {
    return item.before !== undefined || this.#first === item;
  }

  add(item: T): void {
    if (this.has(item)) return;
    item.before = this.#last;
    if (this.#last === undefined) this.#first = item;
    else this.#last.after = item;
    this.#last = item;
    this.#size++;
  }

  /** Whether it was there. */
  delete(item: T): boolean {
    if (!this.has(item)) return false;
    const { before, after } = item;
    if (before === undefined) this.#first = after;
    else before.after = after;
    if (after === undefined) this.#last = before;
    else after.before = before;
    item.before = item.after = undefined;
    this.#size--;
    return true;
  }

  /** In the order in which they were added. Items may leave while they are listed. */
  all(): T[] {
    const items: T[] = [];
    for (let item = this.#first; item !== undefined; item = item.after) items.push(item);
    return items;
  }

  clear(): void {
    for (const item of this.all()) this.delete(item);
  }
}
