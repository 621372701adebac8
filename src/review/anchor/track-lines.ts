import type { FileText } from "./file-text.ts";
import { mapLines, numberLines, onlyIndexes, type Span } from "../../base/text/line-map.ts";

/** Where the lines of a text are in another, and how certain that is. */
export interface LineMapping {
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
  /** Where lines are gone and others are in their place, in order: words can be followed there. */
  readonly gaps: readonly Span[];
}

/** Two texts that are compared, as numbers and as keys of lines. */
interface ComparedTexts {
  readonly before: Int32Array;
  readonly after: Int32Array;
  readonly oldKeys: readonly string[];
  readonly newKeys: readonly string[];
  readonly map: Int32Array;
  /** The index in the new text of each line that occurs once on each side and is telling; or -1. */
  readonly landmarks: Int32Array;
  readonly moved: Uint8Array;
}

/** Enough letters and digits that the line does not look like many others, as a brace does. */
const TELLING = /(?:[\p{L}\p{N}][^\p{L}\p{N}]*){6}/u;

export function isTelling(line: string): boolean {
  return TELLING.test(line);
}

/**
 * Follows lines from one text to another. Many lines look alike (a brace, `return nil`), so lines
 * are followed in runs: a run of consecutive lines counts if one of them is unique on both sides.
 * Moved runs are found by such lines too. Lines that are gone as a whole may be found by
 * `followWords`.
 */
export function trackLines(oldText: FileText, newText: FileText): LineMapping {
  const [oldKeys, newKeys] = [oldText.keys, newText.keys];
  const { before, after, size } = numberLines(oldKeys, newKeys);
  const map = mapLines({ before, after, size });
  const [oldOnly, newOnly] = [onlyIndexes(before, size), onlyIndexes(after, size)];
  const landmarks = before.map((line, at) =>
    oldOnly[line] === at && isTelling(oldKeys[at] ?? "") ? Math.max(newOnly[line] ?? -1, -1) : -1,
  );
  const moved = new Uint8Array(map.length);
  const compared = { before, after, oldKeys, newKeys, map, landmarks, moved };
  dropStrays(compared);
  if (map.includes(-1)) followMoves(compared);
  const certain = certainIn(compared);
  const edited = new Uint8Array(map.length);
  return { map, ends: map.slice(), certain, moved, edited, gaps: gapsIn(compared) };
}

/** Consecutive lines that are still consecutive. */
interface Run {
  readonly from: number;
  /** Index after the last line. */
  readonly to: number;
}

function runsOf(map: Int32Array): Run[] {
  const runs: Run[] = [];
  for (let from = 0; from < map.length;) {
    let to = from + 1;
    const there = map[from] ?? -1;
    if (there !== -1) {
      while (to < map.length && map[to] === there + to - from) to++;
      runs.push({ from, to });
    }
    from = to;
  }
  return runs;
}

/** The first landmark of a run; its end if there is none. */
function firstLandmark({ from, to }: Run, { map, landmarks }: ComparedTexts): number {
  let at = from;
  while (at < to && landmarks[at] !== map[at]) at++;
  return at;
}

/** Lines between two landmarks of a run. */
function certainIn(compared: ComparedTexts): Uint8Array {
  const { map, landmarks, moved, after } = compared;
  const certain = new Uint8Array(map.length);
  for (const { from, to } of runsOf(map)) {
    // The start and the end of the file are landmarks too.
    const isAtStart = from === 0 && map[0] === 0;
    const isAtEnd = to === map.length && map[to - 1] === after.length - 1;
    const left = isAtStart ? from : firstLandmark({ from, to }, compared);
    let right = to - 1;
    if (!isAtEnd) while (right > left && landmarks[right] !== map[right]) right--;
    // Moved lines may have been rearranged, or copied and then changed.
    if (left < right && moved[left] !== 1) certain.fill(1, left, right + 1);
  }
  return certain;
}

function gapsIn({ map, moved, after }: ComparedTexts): Span[] {
  const gaps: Span[] = [];
  let oldFrom = 0;
  let newFrom = 0;
  let isOpen = false;
  for (let at = 0; at <= map.length; at++) {
    const isEnd = at === map.length;
    const there = isEnd ? after.length : (map[at] ?? -1);
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
  { oldFrom, oldTo, newFrom, newTo }: Span,
  oldText: FileText,
  newText: FileText,
  { map, ends, edited }: LineMapping,
): void {
  const found = findRewrapped(
    oldText.lines.slice(oldFrom, oldTo),
    newText.lines.slice(newFrom, newTo),
  );
  for (const [at, { from, to, isEdited }] of found) {
    const line = oldFrom + at;
    if (map[line] !== -1) continue;
    map[line] = newFrom + from;
    ends[line] = newFrom + to;
    edited[line] = isEdited ? 1 : 0;
  }
}

/**
 * Drops doubtful matches between two known runs: if nearly everything there was replaced, equal
 * lines only look the same.
 */
function dropStrays(compared: ComparedTexts): void {
  const { map, after } = compared;
  let oldFrom = 0;
  let newFrom = 0;
  let strays: Run[] = [];
  const close = (oldTo: number, newTo: number): void => {
    const matched = strays.reduce((sum, { from, to }) => sum + to - from, 0);
    if (matched * 4 < Math.max(oldTo - oldFrom, newTo - newFrom)) {
      for (const [index, { from, to }] of strays.entries()) {
        const newAt = map[from] ?? 0;
        const isAfter = index === 0 && isNear(from - oldFrom, newAt - newFrom);
        const isLast = index === strays.length - 1;
        const isBefore = isLast && isNear(oldTo - to, newTo - newAt - (to - from));
        if (!isAfter && !isBefore) map.fill(-1, from, to);
      }
    }
    strays = [];
  };
  for (const run of runsOf(map)) {
    if (firstLandmark(run, compared) === run.to) {
      strays.push(run);
      continue;
    }
    const newAt = map[run.from] ?? 0;
    close(run.from, newAt);
    oldFrom = run.to;
    newFrom = newAt + run.to - run.from;
  }
  close(map.length, after.length);
}

/** Whether only a few lines were inserted or deleted. */
function isNear(taken: number, put: number): boolean {
  return Math.min(taken, put) === 0 && Math.max(taken, put) <= 12;
}

/** A shorter move is not followed: a single line may as well be new. */
const SHORTEST_MOVE = 3;
/** Letters and digits of lines that may be moved alone, as for git (git-blame(1), `-M`). */
const MOVED_ALONE = /(?:[\p{L}\p{N}][^\p{L}\p{N}]*){20}/u;

/**
 * Landmarks that the diff did not match were moved, together with the lines around them. The same
 * holds for a few consecutive lines that are unique only together.
 */
function followMoves(compared: ComparedTexts): void {
  const { before, after, oldKeys, map, landmarks, moved } = compared;
  const loose = looseEnds(compared);
  /** The index in the old text of each new line; or -1. */
  const owner = new Int32Array(after.length).fill(-1);
  map.forEach((to, at) => {
    if (to >= 0) owner[to] = at;
  });
  const isFree = (from: number, to: number): boolean => {
    const number = before[from];
    if (number === undefined || number !== after[to]) return false;
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
    const isLong = last - first + 1 >= SHORTEST_MOVE;
    if (!isLong && !MOVED_ALONE.test(oldKeys.slice(at + first, at + last + 1).join(""))) return;
    for (let step = first; step <= last; step++) put(at + step, to + step);
  };
  // Computed before any line is followed.
  const windows = uniqueWindows(compared, owner);
  for (let at = 0; at < map.length; at++) {
    const to = landmarks[at] ?? -1;
    if (to >= 0) follow(at, to);
  }
  for (const [at, to] of windows) follow(at, to);
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
    if (map[at] === -1 && to >= 0 && owner[to] === -1 && isFree(at, to)) put(at, to);
  }
}

/**
 * Lines at the start of a run, before its first landmark. The end of a block moves with the block,
 * so a moved block may take them.
 */
function looseEnds(compared: ComparedTexts): Uint8Array {
  const loose = new Uint8Array(compared.map.length);
  for (const run of runsOf(compared.map)) {
    if (run.from > 0) loose.fill(1, run.from, firstLandmark(run, compared));
  }
  return loose;
}

/** The windows that begin with an unmatched line on both sides, and occur once on each. */
function uniqueWindows(
  { oldKeys, newKeys, map }: ComparedTexts,
  owner: Int32Array,
): [number, number][] {
  const lost = new Map<string, number>();
  map.forEach((to, at) => {
    const window = to === -1 ? windowAt(oldKeys, at) : undefined;
    if (window !== undefined) lost.set(window, at);
  });
  const found = new Map<string, number>();
  owner.forEach((at, to) => {
    const window = at === -1 ? windowAt(newKeys, to) : undefined;
    if (window !== undefined && lost.has(window)) found.set(window, to);
  });
  if (found.size === 0) return [];
  const times = new Map<string, number>();
  for (const keys of [oldKeys, newKeys]) {
    for (let at = 0; at < keys.length; at++) {
      const window = windowAt(keys, at) ?? "";
      if (found.has(window)) times.set(window, (times.get(window) ?? 0) + 1);
    }
  }
  return [...found].flatMap(([window, to]): [number, number][] =>
    times.get(window) === 2 ? [[lost.get(window) ?? 0, to]] : [],
  );
}

/** The few lines from one, if they have enough letters. */
function windowAt(keys: readonly string[], at: number): string | undefined {
  const window = keys.slice(at, at + SHORTEST_MOVE).join("\n");
  return isTelling(window) ? window : undefined;
}

/** Letters and digits are one word, every other character is one too. */
const WORD = /[\p{L}\p{N}_$]+|[^\s'"`;,()]/gu;
/**
 * The marks around a line of a comment, which re-wrapping moves to other words. Of many stars, only the
 * first begins a mark: looking from each of them would take minutes for a line of a megabyte.
 */
const MARK = /^\s*(?:\/\/+|\/?\*+\/?(?=\s|$)|#+(?=\s|$))|(?<!\*)\*+\/\s*$/g;

/** The words of lines, each with the index of its line, without characters that a formatter adds and removes. */
export function lineWords(lines: readonly string[]) {
  const found = lines.map((line) => line.replace(MARK, "").match(WORD) ?? []);
  return { words: found.flat(), lines: found.flatMap((words, at) => words.map(() => at)) };
}

/** The lines of the new text that hold the words of an old line. */
export interface RewrappedLines {
  readonly from: number;
  readonly to: number;
  /** Whether words were added or removed, too. */
  readonly isEdited: boolean;
}

/** The share of a line's words that must still be there. */
const LEAST_LEFT = 0.8;
/** Words of a line that is easily found by chance. */
const FEW = 3;
/** Words. A longer region is not compared word by word. */
const MOST_WORDS = 40_000;

/**
 * Finds the words of lines that were broken or joined differently, within regions of two texts.
 * Only lines of which nearly all words are there, close to each other, are found.
 */
export function findRewrapped(
  before: readonly string[],
  now: readonly string[],
): Map<number, RewrappedLines> {
  const found = new Map<number, RewrappedLines>();
  // Nearly every line has a word.
  if (before.length + now.length > MOST_WORDS) return found;
  const [old, next] = [lineWords(before), lineWords(now)];
  if (old.words.length === 0 || next.words.length === 0) return found;
  if (old.words.length + next.words.length > MOST_WORDS) return found;
  const map = mapLines(numberLines(old.words, next.words));
  const known = new WordCounter(map, next.lines, now.length);
  for (let first = 0; first < old.words.length;) {
    let end = first + 1;
    while (old.lines[end] === old.lines[first]) end++;
    const place = placeOf(map.subarray(first, end), next.lines, known);
    if (place !== undefined) found.set(old.lines[first] ?? 0, place);
    first = end;
  }
  return found;
}

function placeOf(
  map: Int32Array,
  lines: readonly number[],
  known: WordCounter,
): RewrappedLines | undefined {
  const left = map.filter((at) => at >= 0);
  const [first = 0] = left;
  const last = left.at(-1) ?? 0;
  if (left.length < map.length * LEAST_LEFT) return undefined;
  // Common words are found in any text, but then far from each other.
  if (last - first + 1 > map.length / LEAST_LEFT + 1) return undefined;
  const [from, to] = [lines[first] ?? 0, lines[last] ?? 0];
  const old = known.shareOf(from, to);
  // One or two words prove little, unless the line around them has old words only.
  if (map.length < FEW && old < LEAST_LEFT) return undefined;
  const isWhole = left.length === map.length && last - first + 1 === map.length;
  return { from, to, isEdited: !isWhole || old < 1 };
}

/** Counts the old words on new lines. They are summed up once: a line may have the words of thousands. */
class WordCounter {
  /** The words before each line, and before the end. */
  readonly #words: Int32Array;
  /** The old words among them. */
  readonly #old: Int32Array;

  /** `lines` has the line of each new word, and `map` the new word of each old one. */
  constructor(map: Int32Array, lines: readonly number[], count: number) {
    this.#words = new Int32Array(count + 1);
    this.#old = new Int32Array(count + 1);
    const known = new Set(map);
    for (let at = 0; at < lines.length; at++) {
      const next = (lines[at] ?? 0) + 1;
      this.#words[next] = (this.#words[next] ?? 0) + 1;
      if (known.has(at)) this.#old[next] = (this.#old[next] ?? 0) + 1;
    }
    for (let at = 1; at <= count; at++) {
      this.#words[at] = (this.#words[at] ?? 0) + (this.#words[at - 1] ?? 0);
      this.#old[at] = (this.#old[at] ?? 0) + (this.#old[at - 1] ?? 0);
    }
  }

  /** The share of old words on lines, the last one included. */
  shareOf(from: number, to: number): number {
    const between = (sums: Int32Array): number => (sums[to + 1] ?? 0) - (sums[from] ?? 0);
    return between(this.#old) / between(this.#words);
  }
}
