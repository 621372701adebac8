import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { SeededRandom } from "../../../test/support/seeded-random.ts";
import { endOfString, estimateEscapes } from "./json-text.ts";

describe("endOfString", () => {
  it("finds the end of every string that JSON can write, at any offset", () => {
    const random = new SeededRandom(0x5714);
    const pieces = ["\\", "\\\\", '"', '"""', "a", "\n", "é", "🙂", "{}[],:", "x".repeat(50)];
    for (let round = 0; round < 500; round++) {
      const value = Array.from({ length: random.below(300) }, () => random.pick(pieces)).join("");
      const literal = JSON.stringify(value);
      const text = `["\\"",${literal},"\\\\"]`;
      const from = text.indexOf(literal);
      assert.equal(endOfString(text, from), from + literal.length - 1, literal);
    }
  });

  it("returns the text's length if the string is cut off", () => {
    const whole = String.raw`"a\"b\\\"c` + String.raw`\"`.repeat(200);
    for (let end = 1; end <= whole.length; end++) {
      assert.equal(endOfString(whole.slice(0, end), 0), end);
    }
  });
});

describe("estimateEscapes", () => {
  it("is close to the truth for any long text, wherever it samples", () => {
    const random = new SeededRandom(0xe5c);
    for (const unit of ["\\n", "\\u0041", 'some text\\"', "x".repeat(99) + "\\\\"]) {
      // So long that a fifth is six times the usual error: no seed comes near it.
      const text = `"${unit.repeat(100_000)}"`;
      const escapes = text.split("\\").length - 1;
      for (let round = 0; round < 5; round++) {
        const seed = random.below(2 ** 32);
        const estimate = estimateEscapes(text, seed);
        const says = `${estimate} for ${escapes} with seed ${seed}`;
        assert.ok(Math.abs(estimate - escapes) < 0.2 * escapes, says);
      }
    }
    assert.equal(estimateEscapes(`"${"x".repeat(100_000)}"`), 0);
  });
});
