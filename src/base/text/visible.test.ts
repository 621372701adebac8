import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { visible, visibleLine } from "./visible.ts";

describe("visible()", () => {
  it("keeps visible text, with its lines and tabs", () => {
    const kept = ["a\tb\n", "line\r\nline\r\n", "ü 漢 🙂 שלום مرحبا", "👩‍💻 👍🏽 ❤️ 1️⃣ 👩🏽‍🚀", "a\u00a0b"];
    for (const text of kept) assert.equal(visible(text), text);
  });

  const hidden: readonly (readonly [string, string, string])[] = [
    ["a terminal escape", "\x1b[2J", String.raw`\u001b[2J`],
    ["a terminal escape of one byte", "\x9b2J", String.raw`\u009b2J`],
    ["a bell, a backspace and a NUL", "\x07\b\0", String.raw`\u0007\u0008\u0000`],
    ["a carriage return that ends no line", "safe\rrm", String.raw`safe\u000drm`],
    ["a delete", "\x7f", String.raw`\u007f`],
    ["a next line", "\x85", String.raw`\u0085`],
    ["an override of direction", "\u202egpj\u202c", String.raw`\u202egpj\u202c`],
    ["isolates", "\u2066a\u2069", String.raw`\u2066a\u2069`],
    ["marks of direction", "\u200e\u200f\u061c", String.raw`\u200e\u200f\u061c`],
    ["characters without a width", "a\u200bb\u2060c\ufeff", String.raw`a\u200bb\u2060c\ufeff`],
    ["joiners outside of emoji", "a\u200db\u200cc", String.raw`a\u200db\u200cc`],
    [
      "selectors outside of emoji",
      "a\ufe0f1\ufe0f\u{e0100}",
      String.raw`a\ufe0f1\ufe0f\udb40\udd00`,
    ],
    ["tags", "\u{e0041}", String.raw`\udb40\udc41`],
    ["line and paragraph separators", "\u2028\u2029", String.raw`\u2028\u2029`],
    ["half a surrogate pair", "\ud83d", String.raw`\ud83d`],
    ["fillers that are drawn as nothing", "\u3164\u115f\u00ad", String.raw`\u3164\u115f\u00ad`],
    ["what is no character", "\uffff\ufdd0", String.raw`\uffff\ufdd0`],
  ];
  for (const [what, text, shown] of hidden) {
    it(`escapes ${what}`, () => assert.equal(visible(`<${text}>`), `<${shown}>`));
  }

  it("leaves the meaning of JSON unchanged", () => {
    const value = { "\u202e": "\u2028\u{e0041}\ud83d\x7f\x9b", text: "two\nlines" };
    const text = visible(JSON.stringify(value, null, 2));
    assert.deepEqual(JSON.parse(text), value);
    assert.match(text, /^[\n\x20-\x7e]*$/);
  });

  it("is fast on a long text", () => {
    const text = `${"👩‍💻".repeat(100_000)}\u202e`;
    assert.ok(visible(text).endsWith(String.raw`\u202e`));
  });
});

describe("visibleLine()", () => {
  it("stays on one line", () => {
    const text = "one\ntwo\r\nthree\tfour\x1b";
    assert.equal(visibleLine(text), String.raw`one\ntwo\r\nthree\tfour\u001b`);
  });
});
