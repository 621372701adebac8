/** Texts with more differences are not compared line by line. */
const MOST_EDITS = 1_000;
/**
 * How often all lines may be looked at for unique ones. Lines that become unique one after the other,
 * each where the one before was found, are otherwise looked at as often as there are lines.
 */
const MOST_PASSES = 32;
/** Steps of all comparisons line by line: some 40 with the most differences. Later ones are left out. */
const MOST_STEPS = 20_000_000;
/** Pairs of an old and a new line that are compared one by one. */
const FEW_PAIRS = 100;

/** Bytes that are asked for at once. */
const BLOCK = 256 * 1024;
let block = new ArrayBuffer(0);
let used = 0;

/**
 * Zeros, as a part of a larger block: comparing the files of a list takes thousands of arrays, and asking
 * for the memory of each takes longer than most of what is done with it.
 */
export function ints(length: number): Int32Array<ArrayBuffer> {
  const at = room(4 * length);
  return at < 0 ? new Int32Array(length) : new Int32Array(block, at, length);
}

/** An array of its own with the same numbers. */
export function copied(numbers: Int32Array): Int32Array<ArrayBuffer> {
  const copy = ints(numbers.length);
  copy.set(numbers);
  return copy;
}

/** The same as `ints` for bytes. */
export function bytes(length: number): Uint8Array<ArrayBuffer> {
  const at = room(length);
  return at < 0 ? new Uint8Array(length) : new Uint8Array(block, at, length);
}

/** Where in the block there is room for some bytes; -1 if that is too many. */
function room(size: number): number {
  if (size > BLOCK / 8) return -1;
  if (used + size > block.byteLength) {
    block = new ArrayBuffer(BLOCK);
    used = 0;
  }
  const at = used;
  used += (size + 3) & ~3;
  return at;
}

/** Lines from an index to before another, in both texts. Trimmed in place: there are many. */
interface Span {
  oldFrom: number;
  oldTo: number;
  newFrom: number;
  newTo: number;
}

/**
 * Maps each line of the old text to its index in the new one, or -1 if it is gone. Lines that occur
 * once on both sides are matched first (patience diff), so that a block of braces is not matched to
 * another; the rest is matched with the fewest edits (Myers).
 */
export function mapLines(oldLines: readonly string[], newLines: readonly string[]): Int32Array {
  const numbers = new Map<string, number>();
  const numbered = (lines: readonly string[]): Int32Array =>
    Int32Array.from(lines, (line) => {
      const number = numbers.get(line) ?? numbers.size;
      numbers.set(line, number);
      return number;
    });
  const [before, after] = [numbered(oldLines), numbered(newLines)];
  return mapNumbers(before, after, numbers.size);
}

/** The same for lines that are numbers below `size`; equal lines have equal numbers. */
export function mapNumbers(before: Int32Array, after: Int32Array, size: number): Int32Array {
  const map = ints(before.length).fill(-1);
  const spans: Span[] = [{ oldFrom: 0, oldTo: before.length, newFrom: 0, newTo: after.length }];
  const unique = new UniqueLines(before, after, size);
  let left = MOST_PASSES * (before.length + after.length);
  let steps = MOST_STEPS;
  for (let span = spans.pop(); span !== undefined; span = spans.pop()) {
    trimStart(before, after, span, map);
    const { oldTo, newTo } = span;
    if (span.oldFrom === oldTo || span.newFrom === newTo) continue;
    left -= oldTo - span.oldFrom + newTo - span.newFrom;
    const found = left < 0 ? 0 : unique.in(span);
    if (found === NONE) continue;
    if (found === 0) {
      // Not earlier: the end of an inserted function looks like the end of the one above it, and
      // would be matched to it.
      trimEnd(before, after, span, map);
      if (hasCommon(before, after, span)) steps -= myers(before, after, span, map, steps);
      continue;
    }
    let { oldFrom, newFrom } = span;
    // By index, as all that is done for each line: an iterator makes an object for each.
    for (let n = 0; n < found; n++) {
      const oldAt = anchors[n] ?? 0;
      const newAt = unique.newAt(oldAt);
      map[oldAt] = newAt;
      // Most are next to each other.
      if (oldFrom < oldAt && newFrom < newAt) {
        spans.push({ oldFrom, oldTo: oldAt, newFrom, newTo: newAt });
      }
      oldFrom = oldAt + 1;
      newFrom = newAt + 1;
    }
    spans.push({ oldFrom, oldTo, newFrom, newTo });
  }
  return map;
}

function trimStart(before: Int32Array, after: Int32Array, span: Span, map: Int32Array): void {
  let { oldFrom, newFrom } = span;
  while (oldFrom < span.oldTo && newFrom < span.newTo && before[oldFrom] === after[newFrom]) {
    map[oldFrom++] = newFrom++;
  }
  span.oldFrom = oldFrom;
  span.newFrom = newFrom;
}

function trimEnd(before: Int32Array, after: Int32Array, span: Span, map: Int32Array): void {
  let { oldTo, newTo } = span;
  while (span.oldFrom < oldTo && span.newFrom < newTo && before[oldTo - 1] === after[newTo - 1]) {
    map[--oldTo] = --newTo;
  }
  span.oldTo = oldTo;
  span.newTo = newTo;
}

const NONE = -1;
const SEVERAL = -2;

/** Whoever writes to it makes it as it was before. */
let shared = new Int32Array(4096).fill(NONE);
/** What was found last: an array that grows is garbage several times over. */
let anchors = new Int32Array(1024);

/** Finds lines that occur once on each side of a span, and are in the same order on both. */
class UniqueLines {
  readonly #before: Int32Array;
  readonly #after: Int32Array;
  /** The only index of each line within the span. */
  readonly #oldAt: Int32Array;
  readonly #newAt: Int32Array;
  /** For each old line that was found, its index in the new text. */
  readonly #found: Int32Array;

  constructor(before: Int32Array, after: Int32Array, size: number) {
    this.#before = before;
    this.#after = after;
    if (shared.length < 2 * size) shared = new Int32Array(4 * size).fill(NONE);
    this.#oldAt = shared.subarray(0, size);
    this.#newAt = shared.subarray(size, 2 * size);
    this.#found = ints(before.length);
    if (anchors.length < before.length) anchors = new Int32Array(2 * before.length);
  }

  newAt(oldAt: number): number {
    return this.#found[oldAt] ?? NONE;
  }

  /**
   * Puts their indexes in the old text into `anchors`, and returns how many there are; `NONE` if the two
   * sides have no line in common at all.
   */
  in({ oldFrom, oldTo, newFrom, newTo }: Span): number {
    count(this.#before, oldFrom, oldTo, this.#oldAt);
    count(this.#after, newFrom, newTo, this.#newAt);
    let found = 0;
    let last = NONE;
    let isRising = true;
    let isCommon = false;
    for (let at = oldFrom; at < oldTo; at++) {
      const line = this.#before[at] ?? 0;
      const there = this.#newAt[line] ?? NONE;
      if (there !== NONE) isCommon = true;
      if (there < 0 || this.#oldAt[line] !== at) continue;
      this.#found[at] = there;
      isRising &&= there > last;
      last = there;
      anchors[found++] = at;
    }
    clear(this.#before, oldFrom, oldTo, this.#oldAt);
    clear(this.#after, newFrom, newTo, this.#newAt);
    if (!isCommon) return NONE;
    if (isRising) return found;
    const rising = longestRising([...anchors.subarray(0, found)], this.#found);
    anchors.set(rising);
    return rising.length;
  }
}

function count(lines: Int32Array, from: number, to: number, only: Int32Array): void {
  for (let at = from; at < to; at++) {
    const line = lines[at] ?? 0;
    only[line] = only[line] === NONE ? at : SEVERAL;
  }
}

function clear(lines: Int32Array, from: number, to: number, only: Int32Array): void {
  // Filling is done by the system, as fast as clearing a few one by one.
  if ((to - from) * 16 > only.length) only.fill(NONE);
  else for (let at = from; at < to; at++) only[lines[at] ?? 0] = NONE;
}

/** The longest part of a list whose values rise. */
function longestRising(list: readonly number[], values: Int32Array): number[] {
  const tails: number[] = [];
  const previous = new Int32Array(list.length).fill(-1);
  list.forEach((at, index) => {
    const value = values[at] ?? 0;
    let low = 0;
    let high = tails.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((values[list[tails[middle] ?? 0] ?? 0] ?? 0) < value) low = middle + 1;
      else high = middle;
    }
    previous[index] = low > 0 ? (tails[low - 1] ?? -1) : -1;
    tails[low] = index;
  });
  const chosen: number[] = [];
  for (let index = tails.at(-1) ?? -1; index >= 0; index = previous[index] ?? -1) {
    chosen.push(list[index] ?? 0);
  }
  return chosen.toReversed();
}

/** Whether there is anything to match, which is seldom so in a few lines: looking takes less time. */
function hasCommon(before: Int32Array, after: Int32Array, span: Span): boolean {
  const { oldFrom, oldTo, newFrom, newTo } = span;
  if ((oldTo - oldFrom) * (newTo - newFrom) > FEW_PAIRS) return true;
  for (let at = oldFrom; at < oldTo; at++) {
    for (let there = newFrom; there < newTo; there++) {
      if (before[at] === after[there]) return true;
    }
  }
  return false;
}

/**
 * Finds the fewest edits, up to a limit; beyond it, or without enough steps, everything counts as replaced.
 * Returns the steps that it took.
 */
function myers(
  before: Int32Array,
  after: Int32Array,
  span: Span,
  map: Int32Array,
  mostSteps: number,
): number {
  const { oldFrom, oldTo, newFrom, newTo } = span;
  const width = oldTo - oldFrom;
  const height = newTo - newFrom;
  const most = Math.min(width + height, MOST_EDITS);
  const furthest = new Int32Array(2 * most + 3);
  const middle = most + 1;
  const trace: Int32Array[] = [];
  let steps = 0;
  for (let edits = 0; edits <= most && steps < mostSteps; edits++) {
    steps += edits + 1;
    trace.push(furthest.slice(middle - edits - 1, middle + edits + 2));
    for (let diagonal = -edits; diagonal <= edits; diagonal += 2) {
      let x = nextX(furthest, middle + diagonal, diagonal, edits);
      let y = x - diagonal;
      while (x < width && y < height && before[oldFrom + x] === after[newFrom + y]) {
        x++;
        y++;
      }
      furthest[middle + diagonal] = x;
      if (x >= width && y >= height) {
        backtrack(trace, edits, span, map);
        return steps;
      }
    }
  }
  return steps;
}

function nextX(furthest: Int32Array, at: number, diagonal: number, edits: number): number {
  const below = furthest[at + 1] ?? 0;
  const left = furthest[at - 1] ?? 0;
  if (diagonal === -edits || (diagonal !== edits && left < below)) return below;
  return left + 1;
}

function backtrack(trace: readonly Int32Array[], edits: number, span: Span, map: Int32Array): void {
  let x = span.oldTo - span.oldFrom;
  let y = span.newTo - span.newFrom;
  for (let left = edits; left >= 0; left--) {
    const furthest = trace[left] ?? new Int32Array();
    const middle = left + 1;
    const diagonal = x - y;
    const below = furthest[middle + diagonal + 1] ?? 0;
    const beside = furthest[middle + diagonal - 1] ?? 0;
    const isDown = diagonal === -left || (diagonal !== left && beside < below);
    const fromX = left === 0 ? 0 : isDown ? below : beside;
    const fromY = left === 0 ? 0 : fromX - (isDown ? diagonal + 1 : diagonal - 1);
    while (x > fromX && y > fromY) map[span.oldFrom + --x] = span.newFrom + --y;
    x = fromX;
    y = fromY;
  }
}
