import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { allPages, withReadableNames } from "./lists.ts";
import type { JsonObject } from "../json-object.ts";

/** Lists until the server is done or has been heard enough of, and what was left out. */
async function list(page: (number: number) => JsonObject) {
  let pages = 0;
  const leftOut: unknown[] = [];
  const items = await allPages(
    async () => page(++pages),
    "tools",
    (...what) => leftOut.push(what),
  );
  return { items, pages, leftOut };
}

describe("allPages()", () => {
  it("reads 200 pages of a server that has no last page", async () => {
    const { items, pages, leftOut } = await list((page) => ({
      tools: [{ name: `t${page}` }],
      nextCursor: `${page}`,
    }));
    assert.deepEqual([items.length, pages], [200, 200]);
    assert.deepEqual(leftOut, [["too many pages"]]);
  });

  it("stops at 20,000 entries, on one page or many", async () => {
    const entries = (count: number) => Array.from({ length: count }, (_, name) => ({ name }));
    const one = await list(() => ({ tools: entries(150_000) }));
    assert.equal(one.items.length, 20_000);
    assert.deepEqual(one.leftOut, [["too many entries", 130_000]]);
    const many = await list((page) => ({ tools: entries(9_000), nextCursor: `${page}` }));
    assert.deepEqual([many.items.length, many.pages], [20_000, 3]);
  });

  it("stops when the total size of the pages is too large", async () => {
    const description = "x".repeat(9 * 1024 * 1024);
    const { pages, leftOut } = await list((page) => ({
      tools: [{ name: `t${page}`, description }],
      nextCursor: `${page}`,
    }));
    assert.equal(pages, 4);
    assert.deepEqual(leftOut, [["too many pages"]]);
  });

  it("reports nothing for a list that was read completely", async () => {
    const { items, leftOut } = await list((page) => ({
      tools: [{ name: `t${page}` }],
      ...(page < 3 ? { nextCursor: `${page}` } : {}),
    }));
    assert.deepEqual([items.length, leftOut], [3, []]);
  });
});

describe("withReadableNames()", () => {
  it("leaves out names that people could confuse with others", () => {
    const names = ["plain", "a b/c:d", "größe", "esc\u001B[2J", "new\nline", "zero\u200Bwidth"];
    const more = ["\u202Etxt.exe", "tag\u{E0041}", "half\uD800", "bell\u0007", "@instructions"];
    const leftOut: unknown[] = [];
    const entries = [...names, ...more].map((name) => ({ name }));
    const readable = withReadableNames(entries, (...what) => leftOut.push(what));
    assert.deepEqual(
      readable.map(({ name }) => name),
      ["plain", "a b/c:d", "größe"],
    );
    assert.deepEqual(leftOut, [["unreadable names", 8]]);
  });
});
