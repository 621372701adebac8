import assert from "node:assert/strict";
import { test } from "node:test";

import { lineWords, type RewrappedLines, findRewrapped } from "./track-lines.ts";

function found(before: string[], now: string[]): [number, RewrappedLines][] {
  return [...findRewrapped(before, now)];
}

test("findRewrapped() finds a line that was broken into several, and the next one", () => {
  const before = ['const place = findPlace(text, "some words", options);', "return place.line;"];
  const now = ["const place = findPlace(", "  text,", "  'some words',", "  options,", ");"];
  assert.deepEqual(found(before, [...now, "return place.line"]), [
    [0, { from: 0, to: 3, isEdited: false }],
    [1, { from: 5, to: 5, isEdited: false }],
  ]);
});

test("findRewrapped() finds lines that were joined", () => {
  const before = ["/**", " * Words of a comment,", " * which goes on here.", " */"];
  assert.deepEqual(found(before, ["/** Words of a comment, which goes on here. */"]), [
    [1, { from: 0, to: 0, isEdited: false }],
    [2, { from: 0, to: 0, isEdited: false }],
  ]);
});

test("findRewrapped() says that words were added", () => {
  const [[, place] = []] = found(["value = compute(one, two)"], ["value = compute(one, two, 3)"]);
  assert.deepEqual(place, { from: 0, to: 0, isEdited: true });
});

test("findRewrapped() does not find words that are only scattered over another text", () => {
  const now = ["if (value) {", "  show(value, result);", "} else store(other, index);"];
  assert.deepEqual(found(["value = result[index] + other"], now), []);
});

test("findRewrapped() does not find a line of one word in a line of many other words", () => {
  assert.deepEqual(found(["// executable"], ["base = 1; // we will not find executable!"]), []);
});

test("findRewrapped() gives up on regions that are too large to compare", () => {
  const before = Array.from({ length: 30_000 }, (_, n) => `word${n} again`);
  assert.deepEqual(found(before, before), []);
});

test("findRewrapped() takes about as long for lines that were joined as for one that was broken", () => {
  const words = Array.from({ length: 19_000 }, (_, n) => `word${n}`);
  const timeOf = (before: string[], now: string[], count: number): number => {
    const start = process.cpuUsage();
    assert.equal(findRewrapped(before, now).size, count);
    const { user, system } = process.cpuUsage(start);
    return user + system;
  };
  const broken = timeOf([words.join(" ")], words, 1);
  const joined = timeOf(words, [words.join(" ")], words.length);
  assert.ok(joined < 20 * broken + 500_000, `${joined} and ${broken} µs`);
});
test("lineWords() leaves out what a formatter adds, and names the line of each word", () => {
  const lines = ["// call it", "  call('one', (two));", "", " * @param  naïve_1"];
  assert.deepEqual(lineWords(lines), {
    words: ["call", "it", "call", "one", "two", "@", "param", "naïve_1"],
    lines: [0, 0, 1, 1, 1, 3, 3, 3],
  });
});

test("lineWords() takes no longer for a line of a million stars", () => {
  const { words } = lineWords([`a ${"*".repeat(1_000_000)} b`]);
  assert.equal(words.length, 1_000_002);
  assert.deepEqual(lineWords([`a ${"*".repeat(1_000_000)}/ `]).words, ["a"]);
});
