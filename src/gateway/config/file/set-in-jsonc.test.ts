import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { parseFile } from "./parse-file.ts";
import { setInJsonc } from "./set-in-jsonc.ts";

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
        if (text !== "// nothing\n") assert.ok(result.includes(comment), result);
      }
      assert.equal(set(result), result, "twice is as once");
      const removed = parseFile("f", without(result)).value as { identities?: object };
      assert.ok(!Object.hasOwn(removed.identities ?? {}, "work"));
    }
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
