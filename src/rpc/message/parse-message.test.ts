import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { parseMessage } from "./message.ts";
import { RpcError } from "../rpc-error.ts";

const LIMITS = { maxDepth: 10, maxWork: 5000, maxInFlight: 1 };
const long = "x".repeat(8 * 1024);
const longer = "x".repeat(64 * 1024);

describe("parseMessage", () => {
  it("returns the value of a text, with keys of any name as own members", () => {
    const value = parseMessage('{"__proto__":{"a":1},"constructor":2,"b":[1.5,"é"]}', LIMITS);
    assert.deepEqual(Object.entries(value as object), [
      ["__proto__", { a: 1 }],
      ["constructor", 2],
      ["b", [1.5, "é"]],
    ]);
    assert.equal((value as { a?: unknown }).a, undefined);
  });

  it("refuses text that is not JSON, with a short message however long it is", () => {
    for (const text of [
      "",
      " ",
      "{",
      "nope",
      "[1,]",
      "{'a':1}",
      `{"a":"\n"}`,
      `"${long}`,
      `"${longer}`,
      "NaN",
    ]) {
      const error = parseMessage(text, LIMITS);
      assert.ok(error instanceof RpcError);
      assert.equal(error.code, -32700);
      assert.ok(JSON.stringify(error.data).length < 300);
    }
  });

  it("refuses a long text that is deep or made of many values, and accepts a short one", () => {
    const deep = "[".repeat(11) + "]".repeat(11);
    const many = `[${"0,".repeat(4000)}0]`;
    for (const [text, says] of [
      [`["${long}",${deep}]`, /deeper than 10/],
      [`["${longer}",${deep}]`, /deeper than 10/],
      [`["${longer}",${many}]`, /too many values/],
    ] as const) {
      const error = parseMessage(text, LIMITS);
      assert.ok(error instanceof RpcError);
      assert.equal(error.code, -32600);
      assert.match(error.message, says);
    }
    for (const text of [deep, many, `["${long}",${many}]`])
      assert.ok(Array.isArray(parseMessage(text, LIMITS)));
    assert.ok(Array.isArray(parseMessage(`["${long}",[[[[[[[[[]]]]]]]]]]`, LIMITS)));
  });
});
