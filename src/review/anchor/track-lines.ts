import { mapNumbers } from "./line-map.ts";
import { LineNumbers, type NumberedText, TELLING } from "./line-numbers.ts";
import { rewrapped } from "./rewrapped.ts";

/** Where the lines of a text are in another, and how certain that is. */
export interface Tracks {
  /** Index in the new text; -1 if the line is gone. */
  readonly map: Int32Array;
  /** Index of the last line that has its words: a line can have been broken into several. */
  readonly ends: Int32Array;
  /** Lines between two unmistakable lines, with nothing inserted or deleted. */
  readonly certain: Uint8Array;
  /** Lines that were moved. */
  readonly moved: Uint8Array;
  /** Lines that have most of their words, but not the same ones. */
  readonly edited: Uint8Array;
}

/**
 * Follows lines from one text to another. Many lines look alike (a brace, `return nil`), so lines
 * are followed in runs: a run of consecutive lines counts if one of them is unique on both sides.
 * Moved runs are found by such lines too.
 */
export function trackLines(
  oldText: readonly string[],
  newText: readonly string[],
  numbers = new LineNumbers(),
): Tracks {
  const [before, now] = [numbers.of(oldText), numbers.of(newText)];
  const map = mapNumbers(before.numbers, now.numbers);
  const landmarks = landmarksOf(before, now, numbers);
  const certain = new Uint8Array(map.length);
  const moved = new Uint8Array(map.length);
  dropStrays(map, landmarks, newText.length);
  if (map.includes(-1)) followMoves({ before, now, numbers }, map, landmarks, moved);
  for (const run of runsOf(map)) {
    const known = landmarksIn(run, map, landmarks);
    const [first] = known;
    const last = known.at(-1);
    // The start and the end of the file are landmarks too.
    const isAtStart = run.from === 0 && map[0] === 0;
    const isAtEnd = run.to === map.length && map[run.to - 1] === newText.length - 1;
    const left = isAtStart ? run.from : first;
    const right = isAtEnd ? run.to - 1 : last;
    if (left === undefined || right === undefined || left >= right) continue;
    // Moved lines may have been rearranged, or copied and then changed.
    if (moved[left] !== 1) certain.fill(1, left, right + 1);
  }
  const ends = map.slice();
  const edited = new Uint8Array(map.length);
  if (map.includes(-1)) followWords(oldText, newText, { map, ends, moved, edited });
  return { map, ends, certain, moved, edited };
}

/**
 * Lines that were broken or joined differently are found by their words, between the lines above and
 * below that were found as a whole.
 */
function followWords(
  before: readonly string[],
  now: readonly string[],
  { map, ends, moved, edited }: Omit<Tracks, "certain">,
): void {
  let [oldFrom, newFrom, isOpen] = [0, 0, false];
  for (let at = 0; at <= map.length; at++) {
    const isEnd = at === map.length;
    const there = isEnd ? now.length : (map[at] ?? -1);
    if (!isEnd && (there < newFrom || moved[at] === 1)) {
      isOpen ||= there < 0;
      continue;
    }
    if (isOpen && there > newFrom) {
      const found = rewrapped(before, [oldFrom, at], now, [newFrom, there]);
      for (const [line, { from, to, isEdited }] of found) {
        if (map[line] !== -1) continue;
        [map[line], ends[line]] = [from, to];
        edited[line] = isEdited ? 1 : 0;
      }
    }
    [oldFrom, newFrom, isOpen] = [at + 1, there + 1, false];
  }
}

/** Consecutive lines that are still consecutive. */
interface Run {
  readonly from: number;
  /** Index after the last line. */
  readonly to: number;
}

/**
 * Landmarks: lines with enough text that occur once on each side, with their index in the new text.
 */
function landmarksOf(
  before: NumberedText,
  now: NumberedText,
  numbers: LineNumbers,
): Map<number, number> {
  const landmarks = new Map<number, number>();
  for (const [number, at] of before.once) {
    const found = now.once.get(number);
    if (found !== undefined && numbers.lettersOf(number) >= TELLING) landmarks.set(at, found);
  }
  return landmarks;
}

function landmarksIn(
  { from, to }: Run,
  map: Int32Array,
  landmarks: ReadonlyMap<number, number>,
): number[] {
  const found: number[] = [];
  for (let at = from; at < to; at++) if (landmarks.get(at) === map[at]) found.push(at);
  return found;
}

/**
 * Drops doubtful matches between two known runs: if nearly everything there was replaced, equal
 * lines only look the same.
 */
function dropStrays(map: Int32Array, landmarks: ReadonlyMap<number, number>, length: number): void {
  const runs = [...runsOf(map)];
  const isKnown = runs.map((run) => landmarksIn(run, map, landmarks).length > 0);
  let oldFrom = 0;
  let newFrom = 0;
  let strays: Run[] = [];
  const close = (oldTo: number, newTo: number): void => {
    const matched = strays.reduce((sum, { from, to }) => sum + to - from, 0);
    const most = Math.max(oldTo - oldFrom, newTo - newFrom);
    if (matched * 4 < most) {
      const [first] = strays;
      const last = strays.at(-1);
      for (const run of strays) {
        const { from, to } = run;
        const newAt = map[from] ?? 0;
        const isAfter = run === first && isNear(from - oldFrom, newAt - newFrom);
        const isBefore = run === last && isNear(oldTo - to, newTo - newAt - (to - from));
        if (!isAfter && !isBefore) map.fill(-1, from, to);
      }
    }
    strays = [];
  };
  for (const [index, run] of runs.entries()) {
    if (isKnown[index] !== true) {
      strays.push(run);
      continue;
    }
    const newAt = map[run.from] ?? 0;
    close(run.from, newAt);
    oldFrom = run.to;
    newFrom = newAt + run.to - run.from;
  }
  close(map.length, length);
}

/** Whether only a few lines were inserted or deleted. */
function isNear(taken: number, put: number): boolean {
  return Math.min(taken, put) === 0 && Math.max(taken, put) <= 12;
}

/** A shorter move is not followed: a single line may as well be new. */
const SHORTEST_MOVE = 3;
/** Letters and digits of lines that may be moved alone, as for git (git-blame(1), `-M`). */
const LETTERS_OF_A_MOVE = 20;
const WINDOW = 3;

/**
 * Landmarks that the diff did not match were moved, together with the lines around them. The same
 * holds for a few consecutive lines that are unique only together.
 */
function followMoves(
  { before, now, numbers }: { before: NumberedText; now: NumberedText; numbers: LineNumbers },
  map: Int32Array,
  landmarks: ReadonlyMap<number, number>,
  moved: Uint8Array,
): void {
  const loose = looseEnds(map, landmarks);
  const owner = new Map<number, number>();
  for (const [at, to] of map.entries()) if (to >= 0) owner.set(to, at);
  const isFree = (from: number, to: number): boolean => {
    const number = before.numbers[from];
    if (number === undefined || number !== now.numbers[to]) return false;
    if (map[from] !== -1 && loose[from] !== 1) return false;
    const other = owner.get(to);
    return other === undefined || loose[other] === 1;
  };
  const put = (from: number, to: number): void => {
    const other = owner.get(to);
    if (other !== undefined) map[other] = -1;
    if (map[from] !== -1) owner.delete(map[from] ?? -1);
    map[from] = to;
    owner.set(to, from);
    moved[from] = 1;
    loose[from] = 0;
  };
  const windows = uniqueWindows(
    windowsOf(before.numbers, numbers),
    windowsOf(now.numbers, numbers),
    (at) => map[at] === -1,
    (to) => !owner.has(to),
  );
  for (const [at, to] of [...landmarks, ...windows]) {
    if (map[at] !== -1 || owner.has(to) || !isFree(at, to)) continue;
    let first = 0;
    while (map[at + first - 1] === -1 && isFree(at + first - 1, to + first - 1)) first--;
    let last = 0;
    while (isFree(at + last + 1, to + last + 1)) last++;
    let letters = 0;
    for (let step = first; step <= last; step++) {
      letters += numbers.lettersOf(before.numbers[at + step] ?? -1);
    }
    if (last - first + 1 < SHORTEST_MOVE && letters < LETTERS_OF_A_MOVE) continue;
    for (let step = first; step <= last; step++) put(at + step, to + step);
  }
  // An unmatched line may still be next to the line above or below it. A line that loses its match
  // this way may find another.
  for (let round = 0; round < 2; round++) {
    for (let at = 1; at < map.length; at++) {
      const to = (map[at - 1] ?? -1) + 1;
      if (map[at] === -1 && to > 0 && isFree(at, to)) put(at, to);
    }
  }
  for (let at = map.length - 2; at >= 0; at--) {
    const to = (map[at + 1] ?? -1) - 1;
    if (map[at] === -1 && to >= 0 && isFree(at, to) && !owner.has(to)) put(at, to);
  }
}

/**
 * Lines at the start of a run, before its first landmark. The end of a block moves with the block,
 * so a moved block may take them.
 */
function looseEnds(map: Int32Array, landmarks: ReadonlyMap<number, number>): Uint8Array {
  const loose = new Uint8Array(map.length);
  for (const run of runsOf(map)) {
    const [first = run.to] = landmarksIn(run, map, landmarks);
    if (run.from > 0) loose.fill(1, run.from, first);
  }
  return loose;
}

/** The windows that begin with an unmatched line on both sides, and occur once on each. */
function uniqueWindows(
  before: Int32Array,
  now: Int32Array,
  isLost: (at: number) => boolean,
  isNew: (to: number) => boolean,
): [number, number][] {
  const lost = new Map<number, number>();
  for (const [at, hash] of before.entries()) if (hash !== 0 && isLost(at)) lost.set(hash, at);
  const found = new Map<number, number>();
  for (const [to, hash] of now.entries()) if (lost.has(hash) && isNew(to)) found.set(hash, to);
  if (found.size === 0) return [];
  const times = new Map<number, number>();
  for (const side of [before, now]) {
    for (const hash of side) if (found.has(hash)) times.set(hash, (times.get(hash) ?? 0) + 1);
  }
  return [...found].flatMap(([hash, to]): [number, number][] =>
    times.get(hash) === 2 ? [[lost.get(hash) ?? 0, to]] : [],
  );
}

/**
 * A hash of the few lines from each one; 0 if they have too few letters. Two windows with one hash
 * do no harm, because the lines themselves are compared before they count as moved.
 */
function windowsOf(lines: Int32Array, numbers: LineNumbers): Int32Array {
  return lines.map((_, at) => {
    let letters = 0;
    let hash = 0;
    for (let n = at; n < at + WINDOW; n++) {
      const line = lines[n] ?? -1;
      letters += numbers.lettersOf(line);
      hash = Math.imul(hash, 0x01000193) ^ (line + 1);
    }
    return letters < TELLING ? 0 : hash;
  });
}

function* runsOf(map: Int32Array): Generator<Run> {
  for (let from = 0; from < map.length;) {
    let to = from + 1;
    const isMapped = map[from] !== -1;
    if (isMapped) while (to < map.length && map[to] === (map[to - 1] ?? 0) + 1) to++;
    if (isMapped) yield { from, to };
    from = to;
  }
}
