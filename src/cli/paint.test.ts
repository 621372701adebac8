import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { paint, painted } from "./paint.ts";

describe("painted()", () => {
  it("styles what was painted, and nothing else", () => {
    const text = `${paint("red", "a\x1b[32mb", true)}\x1b[1mc\n`;
    assert.equal(painted(text), "\x1b[31ma\\u001b[32mb\x1b[39m\\u001b[1mc\n");
  });

  it("leaves styles out where there are none", () => {
    assert.equal(painted(paint("bold", "a", false)), "a");
  });
});
