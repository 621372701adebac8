import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { changeLocation, shownDiff, wholeDiff } from "./tool-runner.ts";

const lines = (count: number, changed?: number): string =>
  Array.from({ length: count }, (_, at) => (at === changed ? "changed" : `line ${at}`)).join("\n");

describe("wholeDiff()", () => {
  it("shows a small file whole, and marks a new file as new", () => {
    assert.deepEqual(wholeDiff("/a", "one", "two"), {
      type: "diff",
      path: "/a",
      oldText: "one",
      newText: "two",
    });
    assert.equal(wholeDiff("/a", undefined, "two").oldText, null);
  });

  it("leaves out only unchanged lines of a large file, and gives the first line number", () => {
    const { oldText, newText, _meta } = wholeDiff("/a", lines(9_000), lines(9_000, 5_000));
    assert.match(newText, /^line 4980\n[^]*line 4999\nchanged\nline 5001\n[^]*line 5020$/);
    assert.match(String(oldText), /line 4999\nline 5000\nline 5001/);
    assert.deepEqual(_meta, { "trunkline/excerpt": { firstLine: 4_981, lines: 9_000 } });
  });

  it("shows every line if all change", () => {
    const { oldText, newText } = wholeDiff("/a", lines(9_000), "x\n".repeat(9_000));
    assert.equal(newText, "x\n".repeat(9_000));
    assert.equal(oldText, lines(9_000));
  });

  it("shows lines that are added or removed at the end of the file", () => {
    const added = wholeDiff("/a", lines(9_000), `${lines(9_000)}\nmore`);
    assert.match(added.newText, /line 8999\nmore$/);
    assert.doesNotMatch(String(added.oldText), /more/);
    const removed = wholeDiff("/a", `${lines(9_000)}\nmore`, lines(9_000));
    assert.match(String(removed.oldText), /line 8999\nmore$/);
  });
});

describe("shownDiff()", () => {
  it("stays far below the size limit of an update", () => {
    const shown = shownDiff("/a", "o".repeat(200_000), "n".repeat(200_000));
    assert.ok(JSON.stringify(shown).length < 30_000);
  });
});

describe("changeLocation()", () => {
  it("is the first changed line, or only the file if it is new", () => {
    assert.deepEqual(changeLocation("/a", "a\nb\nc", "a\nX\nc"), { path: "/a", line: 2 });
    assert.deepEqual(changeLocation("/a", "a", "a\nb"), { path: "/a", line: 2 });
    assert.deepEqual(changeLocation("/a", undefined, "a"), { path: "/a" });
    assert.deepEqual(changeLocation("/a", "a\nb", ""), { path: "/a", line: 1 });
  });
});
