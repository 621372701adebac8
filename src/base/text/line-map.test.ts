import assert from "node:assert/strict";
import { test } from "node:test";

import { SeededRandom } from "../../../test/support/seeded-random.ts";
import { mapLines as mapNumbers, numberLines } from "./line-map.ts";

function mapLines(before: readonly string[], after: readonly string[]): Int32Array {
  return mapNumbers(numberLines(before, after));
}

function mapped(before: string, after: string): string {
  return [...mapLines(before.split(""), after.split(""))]
    .map((at) => (at < 0 ? "-" : at))
    .join(" ");
}

test("mapLines() follows lines through insertions, deletions and changes", () => {
  assert.equal(mapped("abc", "abc"), "0 1 2");
  assert.equal(mapped("abc", "xabyc"), "1 2 4");
  assert.equal(mapped("abc", "ac"), "0 - 1");
  assert.equal(mapped("abc", ""), "- - -");
  assert.equal(mapped("", "abc"), "");
  assert.equal(mapped("abcabba", "cbabac").replaceAll(/[^-]/g, "").length, 3);
});

test("mapLines() keeps the end of a function with it if another is inserted after it", () => {
  const one = ["func one", "one()", "return", "}"];
  const two = ["func two", "two()", "return", "}"];
  const put = ["func put", "put()", "return", "}"];
  const map = mapLines(["a", ...one, ...two], ["b", ...one, ...put, ...two]);
  assert.deepEqual([...map], [-1, 1, 2, 3, 4, 9, 10, 11, 12]);
});

test("mapLines() maps lines to equal ones only, and never crosses", () => {
  const random = new SeededRandom(7);
  for (let round = 0; round < 300; round++) {
    const letters = "abcdefgh}".slice(0, 1 + random.below(9));
    const text = (): string[] =>
      Array.from({ length: random.below(41) }, () => random.pick(letters.split("")));
    const before = text();
    const after = text();
    const map = mapLines(before, after);
    let last = -1;
    map.forEach((at, index) => {
      if (at < 0) return;
      assert.equal(after[at], before[index]);
      assert.ok(at > last, `${before.join("")} ${after.join("")}`);
      last = at;
    });
  }
});

test("mapLines() finds as many lines as a minimal edit keeps, if none is unique", () => {
  const random = new SeededRandom(11);
  for (let round = 0; round < 200; round++) {
    const text = (): string[] =>
      Array.from({ length: random.below(13) }, () => random.pick(["a", "b"]));
    const [before, after] = [
      [...text(), "a", "a", "b", "b"],
      [...text(), "b", "b", "a", "a"],
    ];
    const count = mapLines(before, after).filter((at) => at >= 0).length;
    assert.equal(count, longestCommon(before, after), `${before.join("")} ${after.join("")}`);
  }
});

test("mapLines() limits its work on two long texts that have nothing in common", () => {
  const before = Array.from({ length: 5000 }, (_, n) => `${n % 7} old`);
  const after = Array.from({ length: 5000 }, (_, n) => `${n % 7} new`);
  assert.ok(mapLines(before, after).every((at) => at < 0));
});

test("mapLines() limits its work on lines that become unique one after the other", () => {
  const before = ["line 2", "unique"];
  const after = [...before];
  for (let n = 3; n < 150_000; n++) {
    before.push(`line ${n}`, `line ${n - 1}`);
    after.push(`new ${n}`, `line ${n}`, `line ${n - 1}`);
  }
  const map = mapLines(before, after);
  assert.deepEqual([...map.subarray(0, 4)], [0, 1, 3, 4]);
});

test("mapLines() compares line by line only as long as that does not take too long", () => {
  const random = new SeededRandom(3);
  const block = (n: number): string[] => [
    `unique ${n}`,
    ...Array.from({ length: 700 }, () => random.pick(["a", "b"])),
  ];
  const texts = [0, 1].map(() => Array.from({ length: 800 }, (_, n) => block(n)).flat());
  const map = mapLines(texts[0] ?? [], texts[1] ?? []);
  const kept = Array.from({ length: 800 }, (_, n) => {
    assert.equal(map[n * 701], n * 701);
    return map.subarray(n * 701, (n + 1) * 701).filter((at) => at >= 0).length;
  });
  const many = kept.filter((count) => count > 350).length;
  assert.ok(many > 100 && many < 700, `${many} of 800`);
});

function longestCommon(one: readonly string[], other: readonly string[]): number {
  let row = [0, ...other.map(() => 0)];
  for (const line of one) {
    const next = [0];
    other.forEach((each, at) => {
      next.push(line === each ? (row[at] ?? 0) + 1 : Math.max(row[at + 1] ?? 0, next[at] ?? 0));
    });
    row = next;
  }
  return row.at(-1) ?? 0;
}
