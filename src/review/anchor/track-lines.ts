import type { FileText } from "./file-text.ts";
import { bytes, copied, ints, mapNumbers } from "./line-map.ts";
import { LineNumbers, TELLING } from "./line-numbers.ts";
import type { NumberedText } from "./number-lines.ts";
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
  /** The index in the new text of each line that occurs once on each side and has enough text; or -1. */
  readonly landmarks: Int32Array;
  readonly before: NumberedText;
  readonly now: NumberedText;
  /** Where words can be followed, in order. */
  readonly gaps: Gap[];
}

/** Lines between two that were found as a whole, from an index to before another. */
export interface Gap {
  readonly oldFrom: number;
  readonly oldTo: number;
  readonly newFrom: number;
  readonly newTo: number;
}

/**
 * Follows lines from one text to another. Many lines look alike (a brace, `return nil`), so lines
 * are followed in runs: a run of consecutive lines counts if one of them is unique on both sides.
 * Moved runs are found by such lines too. Lines that are gone as a whole may be found by
 * `followWords`.
 */
export function trackLines(
  oldText: FileText,
  newText: FileText,
  numbers = new LineNumbers(),
): Tracks {
  const [before, now] = [numbers.of(oldText), numbers.of(newText)];
  const length = now.numbers.length;
  const map = mapNumbers(before.numbers, now.numbers, numbers.size);
  const landmarks = landmarksOf(before, now, numbers);
  const moved = bytes(map.length);
  let runs = runsOf(map);
  if (dropStrays(map, runs, landmarks, length)) runs = runsOf(map);
  if (map.includes(-1)) {
    const loose = looseEnds(map, runs, landmarks);
    if (followMoves({ before, now, numbers }, map, landmarks, moved, loose)) runs = runsOf(map);
  }
  const certain = certainIn(map, runs, landmarks, moved, length);
  const gaps = map.includes(-1) ? gapsOf(map, moved, length) : [];
  const edited = bytes(map.length);
  return { map, ends: copied(map), certain, moved, edited, landmarks, before, now, gaps };
}

/**
 * Lines between two landmarks of a run. A function of its own, as other loops are: V8 compiles a small one
 * sooner, and a list ends before a large one is.
 */
function certainIn(
  map: Int32Array,
  runs: readonly number[],
  landmarks: Int32Array,
  moved: Uint8Array,
  length: number,
): Uint8Array {
  const certain = bytes(map.length);
  for (let n = 0; n < runs.length; n += 2) {
    const from = runs[n] ?? 0;
    const to = runs[n + 1] ?? 0;
    // The start and the end of the file are landmarks too.
    const isAtStart = from === 0 && map[0] === 0;
    const isAtEnd = to === map.length && map[to - 1] === length - 1;
    let left = from;
    if (!isAtStart) while (left < to && landmarks[left] !== map[left]) left++;
    let right = to - 1;
    if (!isAtEnd) while (right > left && landmarks[right] !== map[right]) right--;
    // Moved lines may have been rearranged, or copied and then changed.
    if (left < right && moved[left] !== 1) certain.fill(1, left, right + 1);
  }
  return certain;
}

/** Where lines are gone, and others are in their place. */
function gapsOf(map: Int32Array, moved: Uint8Array, length: number): Gap[] {
  const gaps: Gap[] = [];
  let oldFrom = 0;
  let newFrom = 0;
  let isOpen = false;
  for (let at = 0; at <= map.length; at++) {
    const isEnd = at === map.length;
    const there = isEnd ? length : (map[at] ?? -1);
    if (!isEnd && (there < newFrom || moved[at] === 1)) {
      isOpen ||= there < 0;
      continue;
    }
    if (isOpen && there > newFrom) gaps.push({ oldFrom, oldTo: at, newFrom, newTo: there });
    oldFrom = at + 1;
    newFrom = there + 1;
    isOpen = false;
  }
  return gaps;
}

/** Finds the words of lines in a gap that were broken or joined differently. */
export function followWords(
  { oldFrom, oldTo, newFrom, newTo }: Gap,
  oldText: FileText,
  newText: FileText,
  { map, ends, edited, before, now }: Tracks,
): void {
  const oldLines = oldText.slice(oldFrom, oldTo, before.starts);
  const found = rewrapped(oldLines, newText.slice(newFrom, newTo, now.starts));
  for (const [at, { from, to, isEdited }] of found) {
    const line = oldFrom + at;
    if (map[line] !== -1) continue;
    map[line] = newFrom + from;
    ends[line] = newFrom + to;
    edited[line] = isEdited ? 1 : 0;
  }
}

/** Consecutive lines that are still consecutive. */
interface Run {
  readonly from: number;
  /** Index after the last line. */
  readonly to: number;
}

/** Landmarks: lines with enough text that occur once on each side. */
function landmarksOf(
  { numbers: lines, once }: NumberedText,
  now: NumberedText,
  numbers: LineNumbers,
): Int32Array {
  const landmarks = ints(lines.length).fill(-1);
  for (let at = 0; at < lines.length; at++) {
    const number = lines[at] ?? 0;
    const there = now.once[number] ?? -1;
    if (there < 0 || once[number] !== at || numbers.lettersOf(number) < TELLING) continue;
    landmarks[at] = there;
  }
  return landmarks;
}

/** The first landmark of a run; its end if there is none. */
function firstLandmark(from: number, to: number, map: Int32Array, landmarks: Int32Array): number {
  let at = from;
  while (at < to && landmarks[at] !== map[at]) at++;
  return at;
}

/**
 * Drops doubtful matches between two known runs: if nearly everything there was replaced, equal
 * lines only look the same. Returns whether there were any.
 */
function dropStrays(
  map: Int32Array,
  runs: readonly number[],
  landmarks: Int32Array,
  length: number,
): boolean {
  let oldFrom = 0;
  let newFrom = 0;
  let strays: Run[] = [];
  let isDropped = false;
  const close = (oldTo: number, newTo: number): void => {
    if (strays.length === 0) return;
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
        if (isAfter || isBefore) continue;
        map.fill(-1, from, to);
        isDropped = true;
      }
    }
    strays = [];
  };
  for (let n = 0; n < runs.length; n += 2) {
    const from = runs[n] ?? 0;
    const to = runs[n + 1] ?? 0;
    if (firstLandmark(from, to, map, landmarks) === to) {
      strays.push({ from, to });
      continue;
    }
    const newAt = map[from] ?? 0;
    close(from, newAt);
    oldFrom = to;
    newFrom = newAt + to - from;
  }
  close(map.length, length);
  return isDropped;
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
 * holds for a few consecutive lines that are unique only together. Returns whether any were moved.
 *
 * Most lines are matched, so the others are looked up with `indexOf`, which is compiled from the start.
 */
function followMoves(
  { before, now, numbers }: { before: NumberedText; now: NumberedText; numbers: LineNumbers },
  map: Int32Array,
  landmarks: Int32Array,
  moved: Uint8Array,
  loose: Uint8Array,
): boolean {
  const owner = ownersIn(map, now.numbers.length);
  const isFree = (from: number, to: number): boolean => {
    const number = before.numbers[from];
    if (number === undefined || number !== now.numbers[to]) return false;
    if (map[from] !== -1 && loose[from] !== 1) return false;
    const other = owner[to] ?? -1;
    return other < 0 || loose[other] === 1;
  };
  const put = (from: number, to: number): void => {
    const other = owner[to] ?? -1;
    if (other >= 0) map[other] = -1;
    const old = map[from] ?? -1;
    if (old >= 0) owner[old] = -1;
    map[from] = to;
    owner[to] = from;
    moved[from] = 1;
    loose[from] = 0;
  };
  const follow = (at: number, to: number): void => {
    if (map[at] !== -1 || owner[to] !== -1 || !isFree(at, to)) return;
    let first = 0;
    while (map[at + first - 1] === -1 && isFree(at + first - 1, to + first - 1)) first--;
    let last = 0;
    while (isFree(at + last + 1, to + last + 1)) last++;
    let letters = 0;
    for (let step = first; step <= last; step++) {
      letters += numbers.lettersOf(before.numbers[at + step] ?? -1);
    }
    if (last - first + 1 < SHORTEST_MOVE && letters < LETTERS_OF_A_MOVE) return;
    for (let step = first; step <= last; step++) put(at + step, to + step);
  };
  // Before anything is followed.
  const windows = uniqueWindows({ before, now, numbers }, map, owner);
  for (let at = map.indexOf(-1); at !== -1; at = map.indexOf(-1, at + 1)) {
    const to = landmarks[at] ?? -1;
    if (to >= 0) follow(at, to);
  }
  for (const [at, to] of windows) follow(at, to);
  // An unmatched line may still be next to the line above or below it. A line that loses its match
  // this way may find another.
  for (let round = 0; round < 2; round++) {
    for (let at = map.indexOf(-1, 1); at !== -1; at = map.indexOf(-1, at + 1)) {
      const to = (map[at - 1] ?? -1) + 1;
      if (to > 0 && isFree(at, to)) put(at, to);
    }
  }
  for (let at = map.length - 2; at >= 0; at--) {
    at = map.lastIndexOf(-1, at);
    const to = (map[at + 1] ?? -1) - 1;
    if (at >= 0 && to >= 0 && isFree(at, to) && owner[to] === -1) put(at, to);
  }
  return moved.includes(1);
}

/** The index in the old text of each new line; or -1. */
function ownersIn(map: Int32Array, length: number): Int32Array {
  const owner = ints(length).fill(-1);
  for (let at = 0; at < map.length; at++) {
    const to = map[at] ?? -1;
    if (to >= 0) owner[to] = at;
  }
  return owner;
}

/**
 * Lines at the start of a run, before its first landmark. The end of a block moves with the block,
 * so a moved block may take them.
 */
function looseEnds(map: Int32Array, runs: readonly number[], landmarks: Int32Array): Uint8Array {
  const loose = bytes(map.length);
  for (let n = 0; n < runs.length; n += 2) {
    const from = runs[n] ?? 0;
    if (from > 0) loose.fill(1, from, firstLandmark(from, runs[n + 1] ?? 0, map, landmarks));
  }
  return loose;
}

/** The windows that begin with an unmatched line on both sides, and occur once on each. */
function uniqueWindows(
  { before, now, numbers }: { before: NumberedText; now: NumberedText; numbers: LineNumbers },
  map: Int32Array,
  owner: Int32Array,
): [number, number][] {
  // Most of these lines are not in the other text, which takes less time to see than to hash a window.
  const lost = new Map<number, number>();
  for (let at = map.indexOf(-1); at !== -1; at = map.indexOf(-1, at + 1)) {
    if (!isIn(now, before.numbers[at])) continue;
    const hash = windowAt(before.numbers, at, numbers);
    if (hash !== 0) lost.set(hash, at);
  }
  const found = new Map<number, number>();
  if (lost.size === 0) return [];
  for (let to = owner.indexOf(-1); to !== -1; to = owner.indexOf(-1, to + 1)) {
    if (!isIn(before, now.numbers[to])) continue;
    const hash = windowAt(now.numbers, to, numbers);
    if (lost.has(hash)) found.set(hash, to);
  }
  if (found.size === 0) return [];
  const times = new Map<number, number>();
  for (const { numbers: lines } of [before, now]) {
    for (let at = 0; at < lines.length; at++) {
      const hash = windowAt(lines, at, numbers);
      if (found.has(hash)) times.set(hash, (times.get(hash) ?? 0) + 1);
    }
  }
  return [...found].flatMap(([hash, to]): [number, number][] =>
    times.get(hash) === 2 ? [[lost.get(hash) ?? 0, to]] : [],
  );
}

function isIn({ once }: NumberedText, line: number | undefined): boolean {
  return (once[line ?? -1] ?? -1) !== -1;
}

/**
 * A hash of the few lines from one; 0 if they have too few letters. Two windows with one hash do no
 * harm, because the lines themselves are compared before they count as moved.
 */
function windowAt(lines: Int32Array, at: number, numbers: LineNumbers): number {
  let letters = 0;
  let hash = 0;
  for (let n = at; n < at + WINDOW; n++) {
    const line = lines[n] ?? -1;
    letters += numbers.lettersOf(line);
    hash = Math.imul(hash, 0x01000193) ^ (line + 1);
  }
  return letters < TELLING ? 0 : hash;
}

/** The start and the end of each run, one after the other: an object for each would be much garbage. */
function runsOf(map: Int32Array): number[] {
  const runs: number[] = [];
  for (let from = 0; from < map.length;) {
    let to = from + 1;
    let there = map[from] ?? -1;
    if (there !== -1) {
      while (to < map.length && map[to] === ++there) to++;
      runs.push(from, to);
    }
    from = to;
  }
  return runs;
}
