/** Texts with more differences are not compared line by line. */
const MOST_EDITS = 1_000;
/**
 * How often all lines may be looked at for unique ones. Lines that become unique one after the other,
 * each where the one before was found, are otherwise looked at as often as there are lines.
 */
const MOST_PASSES = 32;
/** Steps of all comparisons line by line: some 40 with the most differences. Later ones are left out. */
const MOST_STEPS = 20_000_000;

/** Two texts as numbers: equal lines have equal numbers. */
export interface NumberedTexts {
  readonly before: Int32Array;
  readonly after: Int32Array;
  /** All numbers are less. */
  readonly size: number;
}

export function numberLines(
  oldLines: readonly string[],
  newLines: readonly string[],
): NumberedTexts {
  const numbers = new Map<string, number>();
  const numbered = (lines: readonly string[]): Int32Array =>
    Int32Array.from(lines, (line) => {
      const number = numbers.get(line) ?? numbers.size;
      numbers.set(line, number);
      return number;
    });
  const [before, after] = [numbered(oldLines), numbered(newLines)];
  return { before, after, size: numbers.size };
}

/** Lines from an index to before another, in both texts. */
export interface Span {
  readonly oldFrom: number;
  readonly oldTo: number;
  readonly newFrom: number;
  readonly newTo: number;
}

/**
 * Maps each line of the old text to its index in the new one, or -1 if it is gone. Lines that occur
 * once on both sides are matched first (patience diff), so that a block of braces is not matched to
 * another; the rest is matched with the fewest edits (Myers).
 */
export function mapLines(texts: NumberedTexts): Int32Array {
  const { before, after } = texts;
  const map = new Int32Array(before.length).fill(-1);
  const spans: Span[] = [{ oldFrom: 0, oldTo: before.length, newFrom: 0, newTo: after.length }];
  const unique = uniqueLines(texts);
  let left = MOST_PASSES * (before.length + after.length);
  let steps = MOST_STEPS;
  for (let next = spans.pop(); next !== undefined; next = spans.pop()) {
    const span = trimStart(texts, next, map);
    const { oldTo, newTo } = span;
    let { oldFrom, newFrom } = span;
    if (oldFrom === oldTo || newFrom === newTo) continue;
    left -= oldTo - oldFrom + newTo - newFrom;
    const pairs = left < 0 ? [] : unique.in(span);
    if (pairs === undefined) continue;
    if (pairs.length === 0) {
      // Not earlier: the end of an inserted function looks like the end of the one above it, and
      // would be matched to it.
      steps -= myers(texts, trimEnd(texts, span, map), map, steps);
      continue;
    }
    for (const { oldAt, newAt } of pairs) {
      map[oldAt] = newAt;
      spans.push({ oldFrom, oldTo: oldAt, newFrom, newTo: newAt });
      oldFrom = oldAt + 1;
      newFrom = newAt + 1;
    }
    spans.push({ oldFrom, oldTo, newFrom, newTo });
  }
  return map;
}

function trimStart({ before, after }: NumberedTexts, span: Span, map: Int32Array): Span {
  let { oldFrom, newFrom } = span;
  while (oldFrom < span.oldTo && newFrom < span.newTo && before[oldFrom] === after[newFrom]) {
    map[oldFrom++] = newFrom++;
  }
  return { ...span, oldFrom, newFrom };
}

function trimEnd({ before, after }: NumberedTexts, span: Span, map: Int32Array): Span {
  let { oldTo, newTo } = span;
  while (span.oldFrom < oldTo && span.newFrom < newTo && before[oldTo - 1] === after[newTo - 1]) {
    map[--oldTo] = --newTo;
  }
  return { ...span, oldTo, newTo };
}

const NONE = -1;
const SEVERAL = -2;

/** The index of each number that occurs once; -1 for one that does not occur, -2 for others. */
export function onlyIndexes(lines: Int32Array, size: number): Int32Array {
  const only = new Int32Array(size).fill(NONE);
  noteIndexes(lines, 0, lines.length, only);
  return only;
}

function noteIndexes(lines: Int32Array, from: number, to: number, only: Int32Array): void {
  for (let at = from; at < to; at++) {
    const line = lines[at] ?? 0;
    only[line] = only[line] === NONE ? at : SEVERAL;
  }
}

interface Pair {
  readonly oldAt: number;
  readonly newAt: number;
}

/** Finds lines that occur once on each side of a span, and are in the same order on both. */
function uniqueLines(texts: NumberedTexts) {
  /** The only index of each line within the span. All are NONE between two searches. */
  const oldOnly = new Int32Array(texts.size).fill(NONE);
  const newOnly = new Int32Array(texts.size).fill(NONE);
  return {
    /** Undefined if the two sides have no line in common at all. */
    in({ oldFrom, oldTo, newFrom, newTo }: Span): Pair[] | undefined {
      const { before, after } = texts;
      noteIndexes(before, oldFrom, oldTo, oldOnly);
      noteIndexes(after, newFrom, newTo, newOnly);
      const pairs: Pair[] = [];
      let isCommon = false;
      for (let oldAt = oldFrom; oldAt < oldTo; oldAt++) {
        const line = before[oldAt] ?? 0;
        const newAt = newOnly[line] ?? NONE;
        if (newAt !== NONE) isCommon = true;
        if (newAt >= 0 && oldOnly[line] === oldAt) pairs.push({ oldAt, newAt });
      }
      for (let at = oldFrom; at < oldTo; at++) oldOnly[before[at] ?? 0] = NONE;
      for (let at = newFrom; at < newTo; at++) newOnly[after[at] ?? 0] = NONE;
      return isCommon ? longestRising(pairs) : undefined;
    },
  };
}

/** The longest part of a list whose new indexes rise. */
function longestRising(pairs: readonly Pair[]): Pair[] {
  /** For each length, the index of the pair with the smallest end. */
  const tails: number[] = [];
  const previous = new Int32Array(pairs.length).fill(-1);
  const newAt = (index: number): number => pairs[index]?.newAt ?? 0;
  for (let index = 0; index < pairs.length; index++) {
    let low = 0;
    let high = tails.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (newAt(tails[middle] ?? 0) < newAt(index)) low = middle + 1;
      else high = middle;
    }
    previous[index] = tails[low - 1] ?? -1;
    tails[low] = index;
  }
  const chosen: Pair[] = [];
  for (let index = tails.at(-1) ?? -1; index >= 0; index = previous[index] ?? -1) {
    chosen.push(...pairs.slice(index, index + 1));
  }
  return chosen.toReversed();
}

/**
 * Finds the fewest edits, up to a limit; beyond it, or without enough steps, everything counts as replaced.
 * Returns the steps that it took.
 */
function myers(
  { before, after }: NumberedTexts,
  span: Span,
  map: Int32Array,
  mostSteps: number,
): number {
  const { oldFrom, oldTo, newFrom, newTo } = span;
  const width = oldTo - oldFrom;
  const height = newTo - newFrom;
  if (width === 0 || height === 0) return 0;
  const most = Math.min(width + height, MOST_EDITS);
  const furthest = new Int32Array(2 * most + 3);
  const middle = most + 1;
  const trace: Int32Array[] = [];
  let steps = 0;
  for (let edits = 0; edits <= most && steps < mostSteps; edits++) {
    steps += edits + 1;
    trace.push(furthest.slice(middle - edits - 1, middle + edits + 2));
    for (let diagonal = -edits; diagonal <= edits; diagonal += 2) {
      const below = furthest[middle + diagonal + 1] ?? 0;
      const left = furthest[middle + diagonal - 1] ?? 0;
      let x = isDown(diagonal, edits, left, below) ? below : left + 1;
      let y = x - diagonal;
      while (x < width && y < height && before[oldFrom + x] === after[newFrom + y]) {
        x++;
        y++;
      }
      furthest[middle + diagonal] = x;
      if (x >= width && y >= height) {
        backtrack(trace, span, map);
        return steps;
      }
    }
  }
  return steps;
}

/** Whether the furthest way to a diagonal is an insertion, and not a deletion. */
function isDown(diagonal: number, edits: number, left: number, below: number): boolean {
  return diagonal === -edits || (diagonal !== edits && left < below);
}

function backtrack(trace: readonly Int32Array[], span: Span, map: Int32Array): void {
  let x = span.oldTo - span.oldFrom;
  let y = span.newTo - span.newFrom;
  for (let edits = trace.length - 1; edits >= 0; edits--) {
    const furthest = trace[edits] ?? new Int32Array();
    const middle = edits + 1;
    const diagonal = x - y;
    const below = furthest[middle + diagonal + 1] ?? 0;
    const left = furthest[middle + diagonal - 1] ?? 0;
    const down = isDown(diagonal, edits, left, below);
    const fromX = edits === 0 ? 0 : down ? below : left;
    const fromY = edits === 0 ? 0 : fromX - (down ? diagonal + 1 : diagonal - 1);
    while (x > fromX && y > fromY) map[span.oldFrom + --x] = span.newFrom + --y;
    x = fromX;
    y = fromY;
  }
}
