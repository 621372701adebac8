import assert from "node:assert/strict";
import { describe, it } from "node:test";

import type { KeyPath } from "../layer.ts";
import { parseFile } from "./parse-file.ts";
import { quickParse } from "./quick-parse.ts";

const RIGHT = [
  "{}",
  "[]",
  "3",
  '{ "a": [1, /* two */ 2,], // three\r\n "b": { "c": null, }, }',
  '{ "a": "\\u00e9\\n\\"//\\"", "b": -1.5e3, "c": [true, false, [], {}] }',
  '/**/{"url":"http://x/*y*/","/*":{"//":"\u2028…\u{1f600}"}}//',
  `{ "deep": ${"[".repeat(60)}${"]".repeat(60)} }`,
  `${" ".repeat(30_000)}{ "a": 1 }`,
  `[${Array.from({ length: 99 }, (_, number) => `{ "a": [${number}] }`).join()}]`,
];

const UNUSUAL = [
  "",
  "// nothing yet\n",
  '\ufeff{ "a": 1 }',
  '{ "a": 1, "a": 2 }',
  '{ "a": 1, "\\u0061": 2 }',
  '{ "__proto__": 1 }',
  '{ "a" 1 }',
  '{ "a": 1 "b": 2 }',
  '{ "a": 1,, }',
  "{ , }",
  "[,]",
  '{ "a": }',
  '{ "a": 01 }',
  '{ "a": 1.e }',
  '{ "a": truefalse }',
  '{ "a": "x\ty" }',
  '{ "a": "\\x" }',
  '{ "a": "x }',
  "{ 'a': 1 }",
  '{ "a": 1 /* }',
  '{ "a": 1 } { }',
  '{ "a": 1 } x',
  '{ "a":\u00a01 }',
  '{ "a": [1}',
  "[".repeat(65) + "]".repeat(65),
  `{ "a": "${"x".repeat(70_000)}" }`,
  // Comments that a pattern could take apart in more ways than can be tried.
  `{ ${"// ".repeat(15_000)}\n @ }`,
  `{ ${"/**/".repeat(15_000)} @ }`,
  `{ ${"/* // */ // /*\n".repeat(4_000)} @ }`,
];

/** Every path of a value, and one that is not there. */
function* paths(value: unknown, path: KeyPath = []): Generator<KeyPath> {
  yield path;
  yield [...path, "missing"];
  if (typeof value !== "object" || value === null) return;
  for (const [key, item] of Object.entries(value)) {
    yield* paths(item, [...path, Array.isArray(value) ? Number(key) : key]);
  }
}

describe("quickParse()", () => {
  for (const text of RIGHT) {
    it(`reads the same as parseFile() in ${JSON.stringify(text.slice(0, 60))}`, () => {
      const slow = parseFile("f", text);
      const quick = quickParse(text);
      assert.deepEqual(quick?.value, slow.value);
      for (const path of paths(slow.value)) {
        assert.equal(quick?.valuePosition(path), slow.valuePosition(path), String(path));
        assert.equal(quick?.keyPosition(path), slow.keyPosition(path), String(path));
      }
    });
  }

  for (const text of UNUSUAL) {
    it(`leaves ${JSON.stringify(text.slice(0, 60))} to parseFile()`, () => {
      assert.equal(quickParse(text), undefined);
    });
  }

  it("gives up quickly on a long text that is something else", () => {
    for (const text of [" ".repeat(60_000), "/*".repeat(30_000), '"\\'.repeat(20_000)]) {
      assert.equal(quickParse(text), undefined);
      assert.equal(quickParse(`{ ${text}`), undefined);
    }
  });

  it("never reads a broken file differently from parseFile()", () => {
    const text = '{ "a": [1, {"b": "c\\n"},], /* x */ "d": -2.5, "e": {"f": null} }';
    for (let from = 0; from < text.length; from++) {
      for (const patch of ["", '"', ",", "}", "]", "/", "\\", "0", "e", ":"]) {
        const broken = text.slice(0, from) + patch + text.slice(from + 1);
        const quick = quickParse(broken);
        if (quick !== undefined) assert.deepEqual(quick.value, parseFile("f", broken).value);
      }
    }
  });
});
