import assert from "node:assert/strict";
import { test } from "node:test";

import { FileText } from "./file-text.ts";
import { followWords, type LineMapping, trackLines } from "./track-lines.ts";

const named = (word: string): string[] =>
  [1, 2, 3, 4].map((n) => `const ${word}${n} = ${word}(${n});`);
const [A, B, C] = [named("alpha"), named("beta"), named("gamma")];
const CHECK = ["if (error !== undefined) {", "  return error;", "}"];

function tracked(before: string[], now: string[]): LineMapping {
  const texts = [FileText.of(before), FileText.of(now)] as const;
  const tracks = trackLines(...texts);
  for (const gap of tracks.gaps) followWords(gap, ...texts, tracks);
  return tracks;
}

function placesOf(before: string[], now: string[]): number[] {
  return [...tracked(before, now).map];
}

test("trackLines() follows a long line that was moved alone", () => {
  const line = "const theOnlyLineLikeThis = computeIt();";
  const places = placesOf([line, ...A, ...B], [...A, `\t${line}`, ...B]);
  assert.deepEqual(places, [4, 0, 1, 2, 3, 5, 6, 7, 8]);
});

test("trackLines() does not move a removed block to a new one that also occurs elsewhere", () => {
  const before = [...CHECK, ...A, ...CHECK, ...B, ...C];
  const now = [...A, ...CHECK, ...B, ...CHECK, ...C];
  assert.deepEqual(placesOf(before, now).slice(0, 3), [-1, -1, -1]);
});

test("trackLines() says where a line ends that was broken, and whether its words changed", () => {
  const line = 'const value = findIt(here, "some words", there);';
  const broken = ["const value = findIt(", "  here,", "  'some words',", "  there,", ");"];
  const { map, ends, certain, edited } = tracked([...A, line, ...B], [...A, ...broken, ...B]);
  assert.deepEqual([map[4], ends[4], certain[4], edited[4]], [4, 7, 0, 0]);
  const other = broken.with(1, "  elsewhere,");
  const changed = tracked([...A, line, ...B], [...A, ...other, ...B]);
  assert.deepEqual([changed.map[4], changed.edited[4]], [4, 1]);
});

test("trackLines() is certain of lines between two unmistakable ones, indented or not", () => {
  const { certain } = tracked(
    [...A, "}", ...B],
    ["new", ...[...A, "}", ...B].map((l) => `\t${l}`)],
  );
  assert.deepEqual(
    [...certain],
    Array.from({ length: 9 }, () => 1),
  );
});
