import type { Anchor } from "../../store/schema.gen.ts";
import type { FileText } from "./file-text.ts";
import type { Span } from "../../base/text/line-map.ts";
import { followWords, isTelling, type LineMapping, trackLines } from "./track-lines.ts";

/**
 * How sure a position is: "exact" is certain, "high" has one obvious candidate, "low" is only
 * similar.
 */
export type Confidence = "exact" | "high" | "low" | "gone";

/** How it was found: by the diff, by the same text elsewhere, or by a similar line. */
export type Method = "diff" | "quote" | "fuzzy" | "none";

/** The current position of commented lines in a file. */
export interface LinePosition {
  /** Undefined if the lines are gone. */
  readonly line?: number;
  readonly end?: number;
  readonly confidence: Confidence;
  readonly method: Method;
}

export const GONE: LinePosition = { confidence: "gone", method: "none" };

/** Lines of context that are kept and compared on either side. */
export const CONTEXT = 3;
const LEAST_LIKENESS = 0.8;
/** In a larger changed region no similar line is searched. */
const MOST_CHANGED = 100;

/** Finds lines of one text in another. The two texts are compared once for all comments. */
export class LineMatcher {
  readonly #before: FileText;
  readonly #now: FileText;
  readonly #followed = new Set<Span>();
  #tracks: LineMapping | undefined;

  constructor(before: FileText, now: FileText) {
    this.#before = before;
    this.#now = now;
  }

  /** `first` and `last` count from 0. */
  find(first: number, last: number): LinePosition {
    const tracks = (this.#tracks ??= trackLines(this.#before, this.#now));
    const { map, certain, moved } = tracks;
    const start = map[first] ?? -1;
    let at = first;
    while (at <= last && certain[at] === 1 && map[at] === start + at - first) at++;
    if (at <= last) return this.#doubtful(first, last, tracks);
    const method = moved[first] === 1 ? "quote" : "diff";
    return { line: start + 1, end: start + last - first + 1, confidence: "exact", method };
  }

  #doubtful(first: number, last: number, tracks: LineMapping): LinePosition {
    const { map, ends, certain, moved, edited } = tracks;
    for (const gap of tracks.gaps) {
      if (gap.oldFrom > last) break;
      if (first < gap.oldTo) this.#follow(gap, tracks);
    }
    let start = -1;
    let end = -1;
    let left = 0;
    let areCertain = true;
    let areEdited = true;
    for (let at = first; at <= last; at++) {
      if (certain[at] !== 1) areCertain = false;
      if ((map[at] ?? -1) < 0) continue;
      if (start < 0) start = at;
      end = at;
      left++;
      if (edited[at] !== 1) areEdited = false;
    }
    if (start < 0) return this.#changed(first, tracks);
    const from = map[start] ?? 0;
    const to = ends[end] ?? 0;
    const isWhole = left === last - first + 1 && to - from === last - first;
    // If the range was split, its beginning counts.
    const isTorn = to < from || to - from > 2 * (last - first) + 10;
    const place = { line: from + 1, end: (isTorn ? from : to) + 1 };
    if (areEdited) return { ...place, confidence: "low", method: "fuzzy" };
    return {
      ...place,
      confidence: isWhole && areCertain ? "exact" : "high",
      method: moved[start] === 1 ? "quote" : "diff",
    };
  }

  /** Comparing words takes long, so they are followed only where a comment is. */
  #follow(gap: Span, tracks: LineMapping): void {
    if (this.#followed.has(gap)) return;
    this.#followed.add(gap);
    followWords(gap, this.#before, this.#now, tracks);
  }

  /** Finds a line that was edited in place, if it is still similar. */
  #changed(first: number, tracks: LineMapping): LinePosition {
    const { map } = tracks;
    const quote = this.#before.lines[first] ?? "";
    if (!isTelling(quote)) return GONE;
    let above = first - 1;
    while (above >= 0 && (map[above] ?? -1) < 0) above--;
    let below = first + 1;
    while (below < map.length && (map[below] ?? -1) < 0) below++;
    const from = above < 0 ? 0 : (map[above] ?? -1) + 1;
    const to = below < map.length ? (map[below] ?? 0) : this.#now.lines.length;
    if (to - from > MOST_CHANGED || below - above - 1 > MOST_CHANGED) return GONE;
    // Lines that are matched to another line are taken.
    for (const gap of tracks.gaps) {
      if (gap.newFrom < to && from < gap.newTo) this.#follow(gap, tracks);
    }
    const here = this.#before.lines.slice(above + 1, below);
    const there = this.#now.lines.slice(from, to);
    const taken = new Set(map.filter((at) => at >= from && at < to));
    const free = there.map((line, at) => (taken.has(from + at) ? "" : line));
    const best = bestOf(quote, free);
    if (best === undefined) return GONE;
    // Each must be the other's best match, or a deleted line would be matched to its neighbour.
    const back = bestOf(free[best] ?? "", here);
    if (back === undefined || here[back] !== quote) return GONE;
    return { line: from + best + 1, end: from + best + 1, confidence: "low", method: "fuzzy" };
  }
}

/** The most similar line, if one is similar enough and there is no tie. */
function bestOf(line: string, others: readonly string[]): number | undefined {
  let best: number | undefined;
  let likeness = LEAST_LIKENESS;
  let isTied = false;
  for (let at = 0; at < others.length; at++) {
    const found = similarity(line, others[at] ?? "");
    if (found < likeness) continue;
    isTied = best !== undefined && found === likeness;
    if (found > likeness || best === undefined) [best, likeness] = [at, found];
  }
  return isTied ? undefined : best;
}

/**
 * Searches for the quoted lines of a comment, where the text that it was made on is not stored. The lines
 * around them must match too.
 */
export function findQuote(anchor: Anchor, now: readonly string[]): LinePosition {
  const { quote = [], before = [], after = [] } = anchor;
  const [first] = quote;
  if (first === undefined) return GONE;
  const found: { at: number; score: number }[] = [];
  for (let at = now.indexOf(first); at >= 0; at = now.indexOf(first, at + 1)) {
    if (!quote.every((line, index) => now[at + index] === line)) continue;
    const above = before.toReversed().map((line, index) => line === now[at - 1 - index]);
    const below = after.map((line, index) => line === now[at + quote.length + index]);
    found.push({ at, score: [...above, ...below].filter(Boolean).length });
  }
  const [best, second] = found.toSorted((one, other) => other.score - one.score);
  if (best === undefined || best.score === second?.score) return GONE;
  const kept = before.length + after.length;
  const isLong = quote.length > 2 && quote.some(isTelling);
  const needed = isLong ? 1 : isTelling(first) ? 2 : Math.max(3, kept - 1);
  if (best.score < Math.min(needed, kept)) return GONE;
  const confidence = best.score * 2 >= kept ? "high" : "low";
  return { line: best.at + 1, end: best.at + quote.length, confidence, method: "quote" };
}

/** Only the beginning of a longer line is compared. */
const MOST = 400;

/** The similarity of two lines, from 0 to 1, without surrounding space (Levenshtein distance). */
function similarity(one: string, other: string): number {
  const a = one.trim().slice(0, MOST);
  const b = other.trim().slice(0, MOST);
  if (a === b) return 1;
  const longest = Math.max(a.length, b.length);
  // Each character of difference in length is one edit.
  return Math.min(a.length, b.length) < longest / 2 ? 0 : 1 - edits(a, b) / longest;
}

function edits(a: string, b: string): number {
  let row = Uint16Array.from({ length: b.length + 1 }, (_, index) => index);
  let next = new Uint16Array(b.length + 1);
  for (let i = 1; i <= a.length; i++) {
    next[0] = i;
    for (let j = 1; j <= b.length; j++) {
      const change = a.charCodeAt(i - 1) === b.charCodeAt(j - 1) ? 0 : 1;
      next[j] = Math.min((row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1, (row[j - 1] ?? 0) + change);
    }
    [row, next] = [next, row];
  }
  return row[b.length] ?? 0;
}
