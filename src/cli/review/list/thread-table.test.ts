import assert from "node:assert/strict";
import { describe, it } from "node:test";

import type { BriefView } from "../../../review/brief-list.ts";
import {
  idsOf,
  menuText,
  tableText,
  type ThreadTable,
  threadTable,
  withPositions,
} from "./thread-table.ts";

const THREAD: BriefView = {
  id: "r7k2mq",
  state: "open",
  severity: "must",
  file: "src/a.ts",
  line: 4,
  end: 4,
  side: "new",
  confidence: "exact",
  comment: "Handle the error",
  repository: "/r/.git",
};

describe("tableText()", () => {
  it("aligns columns, and cuts comments to the width, but never below 20 characters", () => {
    const long = { ...THREAD, state: "proposed", comment: `${"x".repeat(60)}\nmore` };
    const wide = tableText(threadTable([THREAD, long]), 60);
    assert.equal(
      wide,
      `r7k2mq  open      must  src/a.ts:4  Handle the error\n` +
        `r7k2mq  proposed  must  src/a.ts:4  ${"x".repeat(23)}…\n`,
    );
    assert.ok(tableText(threadTable([long]), 10).endsWith(`  ${"x".repeat(19)}…\n`));
  });

  it("cuts no comment that fits", () => {
    const comments = [24, 25, 26].map((length) => "x".repeat(length));
    const table = threadTable(comments.map((comment) => ({ ...THREAD, file: "é", comment })));
    const shown = Array.from(tableText(table, 50).matchAll(/x+…?/g), ([text]) => text);
    assert.deepEqual(shown, ["x".repeat(24), "x".repeat(25), `${"x".repeat(24)}…`]);
  });
});

describe("menuText()", () => {
  it("has one line per thread, whatever its comment contains", () => {
    const text = menuText(threadTable([{ ...THREAD, comment: "\n\tfirst\nr1:open x" }]));
    assert.equal(text, "r7k2mq:open src/a.ts:4 first\n");
  });
});

describe("withPositions()", () => {
  const { line: _line, end: _end, ...whole } = THREAD;
  const files = ["a", "a longer öne ", "\u{1f600}"];
  const tableOf = (names: readonly string[]): ThreadTable =>
    threadTable(names.map((file) => ({ ...whole, file, comment: "So and so, and so on" })));
  for (const [names, what] of [
    [["a", "a longer öne ", "c "], "as wide"],
    [["a", "the longest of them", "b"], "wider"],
    [["a", "", "b"], "narrower"],
    [["a name", "b", ""], "all others"],
    [["ü", "猫 and \u{1f600}, quite long", "b"], "with characters of several bytes"],
  ] as const) {
    it(`has the same as a new table, ${what}`, () => {
      const changed = [0, 1, 2].filter((at) => names[at] !== files[at]);
      const expected = tableOf(names);
      const wheres = names.map((name, at) => (changed.includes(at) ? name : undefined));
      const moves = { wheres, width: expected.widths.where };
      const found = withPositions(tableOf(files), moves);
      assert.deepEqual(found, expected);
      assert.deepEqual(idsOf(found).slice(0, -1), [THREAD.id, THREAD.id, THREAD.id]);
      assert.equal(menuText(found), menuText(expected));
      assert.equal(tableText(found, 10), tableText(expected, 10));
      assert.equal(tableText(tableOf(files), 40, moves), tableText(expected, 40));
    });
  }
});
