import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { fromKept, toKept } from "./reviews-rows.ts";

describe("toKept()", () => {
  for (const [name, text] of [
    ["nothing", Buffer.alloc(0)],
    ["a short text that begins as a compressed one does", Buffer.from([0x78, 0x9c, 1, 2])],
    ["a text that begins with a NUL", Buffer.from([0, 1, 2])],
    ["a long text", Buffer.from("a line\n".repeat(50_000))],
  ] as const) {
    it(`restores ${name}`, () => assert.deepEqual(Buffer.from(fromKept(toKept(text))), text));
  }

  it("compresses long texts", () => {
    assert.ok(toKept(Buffer.from("a line\n".repeat(50_000))).length < 10_000);
  });
});
