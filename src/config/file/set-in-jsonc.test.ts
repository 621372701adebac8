import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { parseFile } from "./parse-file.ts";
import { putFirstInJsonc, setInJsonc } from "./set-in-jsonc.ts";

describe("setInJsonc()", () => {
  const set = (text: string, value: unknown = { a: 1 }): string => {
    return setInJsonc(text, ["identities", "work"], value);
  };

  const without = (text: string): string => setInJsonc(text, ["identities", "work"], undefined);

  it("puts a value in its place, whatever is around it", () => {
    const texts = [
      "",
      "// nothing\n",
      "{}",
      "{ }\n",
      "{\n  // a comment\n}\n",
      '{"a":1}',
      '{"a":1,}',
      '{"identities":{}}',
      '{"identities":{"x":{}}}',
      '{"identities":{"x":{},},}',
      '{\n  "identities": {\n    "x": {} // one\n  }\n}\n',
      '{\n  "identities": {\n    "x": {}, // one\n  }\n}\n',
      '{\n  "identities": {\n    "x": {} /* two */ , /* three */\n    // four\n  }\n}\n',
      '{\n  "identities": {\n    "work": { "old": true }, // kept\n    "x": {}\n  }\n}\n',
      `{ "identities": { "x": {} ${"// ".repeat(5_000)}\n${"/* , */".repeat(5_000)} } }`,
    ];
    for (const text of texts) {
      const result = set(text);
      const { value } = parseFile("f", result);
      const before = parseFile("f", text).value as { identities?: object };
      const identities = { ...before.identities, work: { a: 1 } };
      assert.deepEqual(value, { ...before, identities }, `${text}\n=>\n${result}`);
      for (const comment of text.match(/\/\/.*|\/\*.*?\*\//g) ?? []) {
        assert.ok(result.includes(comment), result);
      }
      assert.equal(set(result), result, "twice is as once");
      const removed = without(result);
      const { identities: others } = parseFile("f", removed).value as { identities?: object };
      const { work: _, ...rest } = (before.identities ?? {}) as { work?: unknown };
      assert.deepEqual(others, rest, removed);
      for (const comment of result.match(/\/\/.*|\/\*.*?\*\//g) ?? []) {
        assert.ok(removed.includes(comment), `${comment} is lost in\n${removed}`);
      }
    }
  });

  it("removes a value and its comma, and none of the comments beside it", () => {
    const text =
      '{\n  "identities": {\n    // about a\n    "a": {}, // first\n    // about work\n    "work": 1, // second\n' +
      '    // about b\n    "b": {} // last\n    // end\n  }\n}\n';
    assert.equal(without(text), text.replace('"work": 1, // second', "// second"));
    const last =
      '{\n  "identities": {\n    "a": {} /* , */, // first\n    // about\n    "work": 1\n    // end\n  }\n}\n';
    assert.equal(without(last), last.replace("*/,", "*/").replace('    "work": 1\n', ""));
    assert.equal(
      without('{ "identities": { "a": 1, "work": 2 } }'),
      '{ "identities": { "a": 1 } }',
    );
    assert.equal(without('{"identities":{"work":2,"b":1}}'), '{"identities":{"b":1}}');
  });

  it("keeps comments beside the values that they belong to", () => {
    assert.equal(
      set('{\n  "identities": {\n    "x": {}, // one\n  }\n}\n'),
      '{\n  "identities": {\n    "x": {}, // one\n    "work": {\n      "a": 1\n    },\n  }\n}\n',
    );
    assert.equal(
      set('{\n  "identities": {\n    "x": {} // one\n  }\n}\n'),
      '{\n  "identities": {\n    "x": {}, // one\n    "work": {\n      "a": 1\n    }\n  }\n}\n',
    );
  });
});

describe("putFirstInJsonc()", () => {
  const put = (text: string): string => putFirstInJsonc(text, ["a", "rules"], { n: 0 });

  it("puts a value before the others of a list, and keeps all comments", () => {
    const lists = [
      "[]",
      "[1]",
      "[ 1, 2 ]",
      "[1, /* x */ 2,]",
      "[ // x\n    // one\n    1, // first\n    // two\n    2 // last\n    // end\n  ]",
    ];
    for (const list of lists) {
      const text = `{\n  "a": { "rules": ${list} } // a\n}\n`;
      const result = put(text);
      const { a: before } = parseFile("f", text).value as { a: { rules: unknown[] } };
      const { a: after } = parseFile("f", result).value as { a: { rules: unknown[] } };
      assert.deepEqual(after.rules, [{ n: 0 }, ...before.rules], result);
      for (const comment of text.match(/\/\/.*|\/\*.*?\*\//g) ?? []) {
        assert.ok(result.includes(comment), result);
      }
      const removed = setInJsonc(result, ["a", "rules", 0], undefined);
      assert.deepEqual(parseFile("f", removed).value, parseFile("f", text).value, removed);
      for (const comment of text.match(/\/\/.*|\/\*.*?\*\//g) ?? []) {
        assert.ok(removed.includes(comment), removed);
      }
    }
    assert.deepEqual(parseFile("f", put("{}")).value, { a: { rules: [{ n: 0 }] } });
  });
});
