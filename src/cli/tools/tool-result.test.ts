import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { TrunklineError } from "../../base/errors.ts";
import type { ToolResult } from "../../tool/tool.ts";
import { printResult, readArguments } from "./tools.ts";

function print(result: ToolResult, json = false) {
  const printed = { out: "", err: "", data: "" };
  const code = printResult(
    {
      values: { json },
      positionals: [],
      env: {},
      cwd: "/",
      out: (text) => (printed.out += text),
      err: (text) => (printed.err += text),
      data: (text) => (printed.data += text),
      color: false,
      isTerminal: false,
      width: 80,
      edge: 80,
    },
    result,
  );
  return { code, ...printed };
}

describe("printResult()", () => {
  it("prints text unchanged if a program reads it", () => {
    const content = [
      { type: "text", text: "one\x1b[1m" },
      { type: "text", text: "two" },
    ];
    assert.deepEqual(print({ content }), { code: 0, out: "", err: "", data: "one\x1b[1m\ntwo\n" });
  });

  it("prints a failure to stderr, and exits with 1, also as JSON", () => {
    const result = { content: [{ type: "text", text: "No" }], isError: true };
    assert.deepEqual(print(result), { code: 1, out: "", err: "No\n", data: "" });
    const { code, out } = print(result, true);
    assert.equal(code, 1);
    assert.deepEqual(JSON.parse(out), result);
  });

  it("prints structured content if there is no other", () => {
    assert.equal(print({ content: [], structuredContent: { a: 1 } }).data, '{\n  "a": 1\n}\n');
  });

  it("names content that is not text, and prints the text of a resource", () => {
    const content = [
      { type: "image", data: "AAAA", mimeType: "image/png" },
      { type: "resource", resource: { uri: "file:///a", text: "in it" } },
      { type: "resource", resource: { uri: "file:///b", blob: "AAAA" } },
    ];
    const expected = "[image, image/png]\nin it\n[resource, file:///b]\n";
    assert.equal(print({ content }).data, expected);
  });
});

describe("readArguments()", () => {
  it("accepts an object", async () => {
    assert.deepEqual(await readArguments('{"a":[1]}'), { a: [1] });
  });

  for (const text of ["", "{", "[]", "null", '"a"', "1"]) {
    it(`refuses '${text}' as wrong usage`, async () => {
      await assert.rejects(readArguments(text), (error: unknown) => {
        return error instanceof TrunklineError && error.code === "usage";
      });
    });
  }
});
