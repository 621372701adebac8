import type { FileText } from "./file-text.ts";
import { bytes } from "./line-map.ts";
import { TELLING, type LineNumbers } from "./line-numbers.ts";
import type { LinePosition } from "./line-position.ts";
import { lineWords } from "./line-words.ts";
import type { Tracks } from "./track-lines.ts";

/** Lines on either side among which landmarks are looked for. */
const FAR = 50;
/** A line of which fewer words are left is gone. */
const LEAST_LEFT = 0.5;
/** Lines that may have changed. With more, the texts between are to be looked at. */
const MOST_DOUBTFUL = 1_000;
/** Bytes of these lines, and words of a line that are looked for in them: each is, in all of the text. */
const MOST_BYTES = 256 * 1024;
const MOST_WORDS = 1_000;

/** The lines between two landmarks, from an index to before another. */
interface Stretch {
  readonly oldFrom: number;
  readonly oldTo: number;
  readonly newFrom: number;
  readonly newTo: number;
}

/**
 * Decides whether the texts between two versions could tell more about lines than the first and the last
 * one do. Reading them takes far longer than anything else, and for most lines there is no doubt: a line
 * that is the only one of its kind between two landmarks, before and now, or whose words are not there.
 */
export class Settled {
  readonly #before: FileText;
  readonly #now: FileText;
  readonly #numbers: LineNumbers;
  readonly #tracks: Tracks;
  /** New lines that are one of the old lines without doubt. */
  #known: Uint8Array | undefined;
  /** All new lines that may be old ones; null until they are needed. */
  #doubtful: string | undefined | null = null;

  constructor(before: FileText, now: FileText, numbers: LineNumbers, tracks: Tracks) {
    this.#before = before;
    this.#now = now;
    this.#numbers = numbers;
    this.#tracks = tracks;
  }

  /** `first` and `last` count from 0. */
  is(first: number, last: number, { confidence, method }: LinePosition): boolean {
    if (confidence === "exact") return true;
    if (confidence !== "gone" && method !== "diff") return false;
    const isGone = confidence === "gone";
    for (let at = first; at <= last; at++) {
      if (isGone ? !this.#isGone(at) : !this.#isOnlyOne(at)) return false;
    }
    return true;
  }

  /** Whether a line is with a landmark, and the only one of its kind between the landmarks around it. */
  #isOnlyOne(at: number): boolean {
    const { certain, before, now } = this.#tracks;
    if (certain[at] === 1) return true;
    const stretch = this.#isWithLandmark(at) ? this.#around(at) : undefined;
    if (stretch === undefined) return false;
    const number = before.numbers[at] ?? -1;
    const { oldFrom, oldTo, newFrom, newTo } = stretch;
    return (
      timesIn(before.numbers, oldFrom, oldTo, number) === 1 &&
      timesIn(now.numbers, newFrom, newTo, number) === 1
    );
  }

  /** Whether nothing is left of a line: of a brace, in its place; of other lines, anywhere. */
  #isGone(at: number): boolean {
    const { map, before, now } = this.#tracks;
    const number = before.numbers[at] ?? -1;
    if (map[at] !== -1) return false;
    const { words } = lineWords(this.#before.slice(at, at + 1, before.starts));
    if (this.#numbers.lettersOf(number) >= TELLING) {
      if ((now.once[number] ?? -1) !== -1) return false;
      if (this.#doubtful === null) this.#doubtful = this.#doubtfulLines(0, now.numbers.length);
      return !isLeft(words, this.#doubtful);
    }
    const stretch = this.#around(at);
    if (stretch === undefined) return false;
    const { newFrom, newTo } = stretch;
    if (timesIn(now.numbers, newFrom, newTo, number) > 0) return false;
    return !isLeft(words, this.#doubtfulLines(newFrom, newTo));
  }

  /** The new lines that may be old ones; undefined if there are too many. */
  #doubtfulLines(from: number, to: number): string | undefined {
    const isKnown = (this.#known ??= this.#knownLines());
    const { starts } = this.#tracks.now;
    let lines = 0;
    let size = 0;
    let text = "";
    for (let at = from; at < to; at++) {
      if (isKnown[at] === 1) continue;
      const first = at;
      while (at < to && isKnown[at] !== 1) at++;
      lines += at - first;
      size += (starts[at] ?? this.#now.content.length) - (starts[first] ?? 0);
      if (lines > MOST_DOUBTFUL || size > MOST_BYTES) return undefined;
      // Whole runs, since most of the time is that of the call.
      text += this.#now.between(first, at, starts);
    }
    return text;
  }

  #knownLines(): Uint8Array {
    const { map, certain, now } = this.#tracks;
    const isKnown = bytes(now.numbers.length);
    for (let at = 0; at < map.length; at++) {
      if (certain[at] === 1 || this.#isLandmark(at)) isKnown[map[at] ?? 0] = 1;
    }
    return isKnown;
  }

  #isLandmark(at: number): boolean {
    const { map, moved, landmarks } = this.#tracks;
    return landmarks[at] !== -1 && landmarks[at] === map[at] && moved[at] !== 1;
  }

  /** Whether a line is a landmark, or still next to one. Farther away, others may have replaced it. */
  #isWithLandmark(at: number): boolean {
    const { map } = this.#tracks;
    if (this.#isLandmark(at)) return true;
    const there = map[at] ?? -1;
    if (map[at - 1] === there - 1 && this.#isLandmark(at - 1)) return true;
    return map[at + 1] === there + 1 && this.#isLandmark(at + 1);
  }

  /** The lines between the nearest landmarks around one; undefined if they are far. */
  #around(at: number): Stretch | undefined {
    const { map, now } = this.#tracks;
    let above = at - 1;
    while (above >= 0 && at - above <= FAR && !this.#isLandmark(above)) above--;
    let below = at + 1;
    while (below < map.length && below - at <= FAR && !this.#isLandmark(below)) below++;
    const isNear = at - above <= FAR && below - at <= FAR;
    const newFrom = above < 0 ? 0 : (map[above] ?? 0) + 1;
    const newTo = below >= map.length ? now.numbers.length : (map[below] ?? 0);
    if (!isNear || newTo < newFrom || newTo - newFrom > 2 * FAR) return undefined;
    return { oldFrom: above + 1, oldTo: below, newFrom, newTo };
  }
}

/** Whether half of a line's words are on one of some lines. */
function isLeft(words: readonly string[], lines: string | undefined): boolean {
  if (lines === undefined || words.length === 0 || words.length > MOST_WORDS) return true;
  const hasHalf = (text: string): boolean => {
    let left = 0;
    // A part of a word counts, too: taking the lines apart would take longer.
    for (let n = 0; n < words.length; n++) if (text.includes(words[n] ?? "")) left++;
    return left >= words.length * LEAST_LEFT;
  };
  // Mostly, all of the lines together do not have them.
  return hasHalf(lines) && lines.split("\n").some(hasHalf);
}

function timesIn(lines: Int32Array, from: number, to: number, line: number): number {
  let times = 0;
  for (let at = from; at < to; at++) if (lines[at] === line) times++;
  return times;
}
