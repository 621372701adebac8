/** Rows from the first to the one before the last. */
export interface RowRange {
  readonly first: number;
  readonly last: number;
}

/** The most rows that one drawing adds: twenty rows of eight cells take 50 ms on a slow processor. */
const SLICE = 8;

/**
 * Chooses the rows that one drawing puts into the document. After a jump or a search all rows are new.
 * Drawing them together would block the page, so each drawing adds a few: those in view first, then those
 * around it.
 */
export class DrawnRows {
  #keys: ReadonlySet<string | number> = new Set();
  #isWhole = true;

  /** False: another drawing is needed for the rest. */
  get isWhole(): boolean {
    return this.#isWhole;
  }

  /**
   * All of `ready` is wanted, and `view` is a part of it. Rows that are drawn and in view stay. Where
   * none of them is, the first row in view is drawn first, or the last one (`fromEnd`).
   */
  choose(
    view: RowRange,
    ready: RowRange,
    keyOf: (index: number) => string | number,
    fromEnd = false,
  ): RowRange {
    let left = SLICE;
    const isDrawn = (index: number): boolean => this.#keys.has(keyOf(index));
    const canDraw = (index: number): boolean => isDrawn(index) || left-- > 0;
    let first = indexesOf(view).find(isDrawn) ?? (fromEnd ? view.last : view.first);
    let last = first;
    for (const wanted of [view, ready]) {
      while (last < wanted.last && canDraw(last)) last++;
      while (first > wanted.first && canDraw(first - 1)) first--;
    }
    this.#isWhole = first === ready.first && last === ready.last;
    this.#keys = new Set(indexesOf({ first, last }).map(keyOf));
    return { first, last };
  }
}

function indexesOf({ first, last }: RowRange): number[] {
  return Array.from({ length: last - first }, (_, at) => first + at);
}
