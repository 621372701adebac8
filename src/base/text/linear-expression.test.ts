import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { SeededRandom } from "../../../test/support/seeded-random.ts";
import { LinearExpression } from "./linear-expression.ts";

const REAL = [
  String.raw`^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(?:-((?:0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*)(?:\.(?:0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*))*))?(?:\+([0-9a-zA-Z-]+(?:\.[0-9a-zA-Z-]+)*))?$`,
  "^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$",
  String.raw`^(?:[a-z0-9]+\.)+[a-z]{2,}$`,
  String.raw`^\d{4}-\d{2}-\d{2}(?:T\d{2}:\d{2}(?::\d{2})?)?$`,
  String.raw`\bword\b|\Bx\B`,
  String.raw`^\p{Lu}\p{Ll}*\u{1f600}?$`,
  String.raw`^(?<year>\d+)?[^\]\-a]*?\x41{0,3}$`,
];
const TEXTS = [
  ...["1.2.3", "1.2.3-rc.1+b.5", "01.2.3", "1.2.3-", "", "1999-12-31", "1999-12-31T10:00"],
  ...["9f0c1a2b-1234-4abc-8def-0123456789ab", "9f0c1a2b-1234-4abc-8def-0123456789ag"],
  ...[
    "a.b.example.com",
    "example",
    "a word here",
    "swords",
    "axb",
    "x",
    "\u00c4hm\u{1f600}",
    "12]AAAA",
    "12AAA",
  ],
];

describe("LinearExpression", () => {
  for (const source of REAL) {
    it(`says of ${source.slice(0, 30)} what JavaScript says`, () => {
      const expected = new RegExp(source, "u");
      const expression = new LinearExpression(source);
      for (const text of TEXTS) assert.equal(expression.test(text), expected.test(text), text);
    });
  }

  it("says of made-up expressions what JavaScript says", () => {
    const random = new SeededRandom(3);
    const make = (depth: number): string => {
      const atom = (): string =>
        depth > 0 && random.once(3)
          ? `(?:${make(depth - 1)})`
          : random.pick(["a", "b", ".", "[ab]", "[^a]", "^", "$", "\\b", "\\w"]);
      const part = (): string => {
        const one = atom();
        const isQuantifiable = !/^(?:\^|\$|\\b)$/.test(one);
        return (
          one +
          (isQuantifiable ? random.pick(["", "", "*", "+", "?", "{2}", "{1,3}", "{2,}", "*?"]) : "")
        );
      };
      const sequence = Array.from({ length: random.below(4) }, part).join("");
      return random.once(3) ? `${sequence}|${part()}` : sequence;
    };
    for (let round = 0; round < 3_000; round++) {
      const source = make(2);
      const expression = new LinearExpression(source);
      const text = Array.from({ length: random.below(7) }, () => random.pick(["a", "b", "-"])).join(
        "",
      );
      assert.equal(expression.test(text), new RegExp(source, "u").test(text), `${source} ${text}`);
    }
  });

  for (const source of [
    "(?=a)",
    "(?!a)",
    "(?<=a)",
    String.raw`(a)\1`,
    "(",
    ")",
    "a**",
    "[a",
    "{",
    "\\",
    "(?i:a)",
  ]) {
    it(`refuses ${source}`, () => {
      assert.throws(() => new LinearExpression(source), SyntaxError);
    });
  }

  for (const source of [
    "a{3000}",
    "((?:){1000}){1000}",
    "((a{100}){100}){100}",
    "(".repeat(10_000),
  ]) {
    it(`refuses ${source.slice(0, 20)} as too large`, () => {
      assert.throws(() => new LinearExpression(source), SyntaxError);
    });
  }
});
