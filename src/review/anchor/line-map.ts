/** Texts with more differences are not compared line by line. */
const MOST_EDITS = 1_000;

interface Span {
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
export function mapLines(oldLines: readonly string[], newLines: readonly string[]): Int32Array {
  return mapNumbers(...numbered(oldLines, newLines));
}

/** The same for lines that are numbers; equal lines have equal numbers. */
export function mapNumbers(before: Int32Array, after: Int32Array): Int32Array {
  const map = new Int32Array(before.length).fill(-1);
  const spans: Span[] = [{ oldFrom: 0, oldTo: before.length, newFrom: 0, newTo: after.length }];
  for (let span = spans.pop(); span !== undefined; span = spans.pop()) {
    const inner = trimStart(before, after, span, map);
    if (inner.oldFrom === inner.oldTo || inner.newFrom === inner.newTo) continue;
    const anchors = uniqueAnchors(before, after, inner);
    if (anchors.length === 0) {
      // Not earlier: the end of an inserted function looks like the end of the one above it, and
      // would be matched to it.
      myers(before, after, trimEnd(before, after, inner, map), map);
      continue;
    }
    let { oldFrom, newFrom } = inner;
    for (const [oldAt, newAt] of anchors) {
      map[oldAt] = newAt;
      spans.push({ oldFrom, oldTo: oldAt, newFrom, newTo: newAt });
      oldFrom = oldAt + 1;
      newFrom = newAt + 1;
    }
    spans.push({ oldFrom, oldTo: inner.oldTo, newFrom, newTo: inner.newTo });
  }
  return map;
}

/** Equal lines get equal numbers, which are faster to compare. */
function numbered(...texts: (readonly string[])[]): [Int32Array, Int32Array] {
  const numbers = new Map<string, number>();
  const [before = new Int32Array(), after = new Int32Array()] = texts.map((lines) =>
    Int32Array.from(lines, (line) => {
      const number = numbers.get(line) ?? numbers.size;
      numbers.set(line, number);
      return number;
    }),
  );
  return [before, after];
}

function trimStart(before: Int32Array, after: Int32Array, span: Span, map: Int32Array): Span {
  let { oldFrom, newFrom } = span;
  while (oldFrom < span.oldTo && newFrom < span.newTo && before[oldFrom] === after[newFrom]) {
    map[oldFrom++] = newFrom++;
  }
  return { ...span, oldFrom, newFrom };
}

function trimEnd(before: Int32Array, after: Int32Array, span: Span, map: Int32Array): Span {
  let { oldTo, newTo } = span;
  while (span.oldFrom < oldTo && span.newFrom < newTo && before[oldTo - 1] === after[newTo - 1]) {
    map[--oldTo] = --newTo;
  }
  return { ...span, oldTo, newTo };
}

/** Lines that occur once on each side, and are in the same order on both. */
function uniqueAnchors(before: Int32Array, after: Int32Array, span: Span): [number, number][] {
  const newAt = onceIn(after, span.newFrom, span.newTo);
  const pairs: [number, number][] = [];
  for (const [line, at] of onceIn(before, span.oldFrom, span.oldTo)) {
    const there = newAt.get(line);
    if (there !== undefined) pairs.push([at, there]);
  }
  pairs.sort((one, other) => one[0] - other[0]);
  return longestRising(pairs);
}

/** Where the lines are that occur once. */
export function onceIn(lines: Int32Array, from = 0, to = lines.length): Map<number, number> {
  const at = new Map<number, number>();
  const twice = new Set<number>();
  for (let index = from; index < to; index++) {
    const line = lines[index] ?? -1;
    if (at.has(line)) twice.add(line);
    else at.set(line, index);
  }
  for (const line of twice) at.delete(line);
  return at;
}

/** The longest increasing subsequence of the second numbers. */
function longestRising(pairs: readonly [number, number][]): [number, number][] {
  const tails: number[] = [];
  const previous = new Int32Array(pairs.length).fill(-1);
  pairs.forEach(([, value], index) => {
    let low = 0;
    let high = tails.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((pairs[tails[middle] ?? 0]?.[1] ?? 0) < value) low = middle + 1;
      else high = middle;
    }
    previous[index] = low > 0 ? (tails[low - 1] ?? -1) : -1;
    tails[low] = index;
  });
  const chosen: [number, number][] = [];
  for (let index = tails.at(-1) ?? -1; index >= 0; index = previous[index] ?? -1) {
    const pair = pairs[index];
    if (pair !== undefined) chosen.push(pair);
  }
  return chosen.toReversed();
}

/** Finds the fewest edits, up to a limit; beyond it everything counts as replaced. */
function myers(before: Int32Array, after: Int32Array, span: Span, map: Int32Array): void {
  const { oldFrom, oldTo, newFrom, newTo } = span;
  const width = oldTo - oldFrom;
  const height = newTo - newFrom;
  const most = Math.min(width + height, MOST_EDITS);
  const furthest = new Int32Array(2 * most + 3);
  const middle = most + 1;
  const trace: Int32Array[] = [];
  for (let edits = 0; edits <= most; edits++) {
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
        return;
      }
    }
  }
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
