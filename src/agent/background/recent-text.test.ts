import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { RecentText } from "./background-commands.ts";

describe("RecentText", () => {
  it("gives each part once", () => {
    const text = new RecentText(100);
    text.add("one ");
    text.add("two");
    assert.ok(text.hasNews);
    assert.equal(text.take(), "one two");
    assert.ok(!text.hasNews);
    assert.equal(text.take(), "");
    text.add("three");
    assert.equal(text.take(), "three");
  });

  it("keeps the end, and says how much nobody has read of what it dropped", () => {
    const text = new RecentText(10);
    text.add("0123456789");
    assert.equal(text.take(), "0123456789");
    for (let piece = 0; piece < 50; piece++) text.add("abcdefghij");
    text.add("the end");
    assert.equal(text.take(), "(497 characters were dropped.)\nhijthe end");
    text.add("!");
    assert.equal(text.take(), "!");
  });
});
