import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { parseFile } from "./parse-file.ts";

function messageOf(text: string): string {
  try {
    parseFile("f", text);
  } catch (error) {
    assert.equal((error as { code?: string }).code, "config");
    return (error as Error).message;
  }
  assert.fail(`${text} was accepted`);
}

const MISTAKES: readonly (readonly [text: string, message: string])[] = [
  ['{\n  "a": 1\n  "b": 2\n}', "f:3:3: expected ','"],
  ['{ "a" 1 }', "f:1:7: expected ':'"],
  ['{ "a": }', "f:1:8: expected a value"],
  ['{ "a": 1', "f:1:9: expected '}'"],
  ['{ "a": [1, 2 }', "f:1:14: expected ','"],
  ['{ "a": "x\n}', "f:1:8: this string does not end"],
  ['{ "a": yes }', "f:1:8: this is not a JSON value"],
  ['{ "a": 1 } x', "f:1:12: this is not a JSON value"],
  ['{ "a": 1 } { }', "f:1:12: expected the end of the file"],
  ["{ 'a': 1 }", "f:1:3: this is not a JSON value"],
  ['{ "a": 1 /* }', "f:1:10: this comment does not end"],
  ['{\r\n  "a": 1,\r\n  "a": 2\r\n}', "f:3:3: 'a' is already set at 2:3"],
  ['{ "x": { "a": 1, "b": 2, "\\u0061": 3 } }', "f:1:26: 'a' is already set at 1:10"],
  ['{ "__proto__": { "server": 1 } }', "f:1:3: '__proto__' cannot be a key"],
  ['\ufeff{ "a" 1 }', "f:1:7: expected ':'"],
];

describe("parseFile()", () => {
  for (const [text, message] of MISTAKES) {
    it(`gives the position of the mistake in ${JSON.stringify(text)}`, () => {
      assert.equal(messageOf(text).split("\n")[0], message);
    });
  }

  it("lists every mistake of a file, in order", () => {
    const text = '{\n  "a": 1,\n  "a": 2,\n  "b": ,\n  "c" 3\n}';
    assert.equal(
      messageOf(text),
      "f:3:3: 'a' is already set at 2:3\nf:4:8: expected a value\nf:5:7: expected ':'",
    );
  });

  it("limits the list of mistakes for a file that is not JSON", () => {
    const lines = messageOf("not json at all ".repeat(1000)).split("\n");
    assert.equal(lines.length, 21);
    assert.match(lines[20] ?? "", /^… and \d+ more$/);
  });

  it("limits the list of mistakes for a file that sets a key over and over", () => {
    const lines = messageOf(`{${'"a":1,'.repeat(150_000)}"b":2}`).split("\n");
    assert.equal(lines.length, 21);
    assert.match(lines[0] ?? "", /'a' is already set at 1:2$/);
  });

  it("reads comments, trailing commas, a byte order mark and an empty file", () => {
    const text = '\ufeff// one\n{ "a": [1, /* two */ 2,], "b": { "c": null, }, }';
    assert.deepEqual(parseFile("f", text).value, { a: [1, 2], b: { c: null } });
    assert.deepEqual(parseFile("f", "").value, {});
    assert.deepEqual(parseFile("f", "// nothing yet\n").value, {});
  });

  it("gives the position of a value and its key, or of the value around it", () => {
    const file = parseFile("f", '{\n  "a": {\n    "b": [1, {"c": 2}]\n  }\n}');
    assert.equal(file.valuePosition(["a", "b", 1, "c"]), "3:20");
    assert.equal(file.keyPosition(["a", "b", 1, "c"]), "3:15");
    assert.equal(file.keyPosition(["a"]), "2:3");
    assert.equal(file.valuePosition(["a", "x", "y"]), "2:8");
    assert.equal(file.valuePosition(["x"]), "1:1");
  });

  it("refuses nesting that would overflow the stack", () => {
    assert.equal(messageOf("[".repeat(300_000)), "f:1:65: nested more than 64 levels deep");
    assert.equal(messageOf('{"a":'.repeat(100_000)), "f:1:321: nested more than 64 levels deep");
    assert.doesNotThrow(() => parseFile("f", "[".repeat(64) + "]".repeat(64)));
  });
});
