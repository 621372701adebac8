import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { chunkBytes, returned, thrown, thrownResponse } from "./returned.ts";
import { ToolError } from "./tool-error.ts";

describe("returned()", () => {
  it("converts whatever a tool returns into an answer", () => {
    const textOf = (value: unknown) => (returned(value).result as { text?: unknown }).text;
    assert.equal(textOf("hello"), "hello");
    assert.equal(textOf(undefined), "");
    assert.equal(textOf(null), "");
    assert.equal(textOf(7), "7");
    assert.deepEqual(returned({ text: "read", count: 2 }).result, { text: "read", count: 2 });
    const list = returned([1, 2]).result as Record<string, unknown>;
    assert.deepEqual([list.text, list.structuredContent], ["[1,2]", [1, 2]]);
  });

  it("returns a full result unchanged, also a failed one", () => {
    const full = { content: [{ type: "text", text: "no" }], isError: true };
    assert.deepEqual([returned(full).success, returned(full).errorMessage], [false, "no"]);
    // Content that no client knows is data like any other.
    const data = returned({ content: [{ kind: "mine" }] });
    assert.deepEqual([data.success, data.result], [true, { content: [{ kind: "mine" }] }]);
  });

  it("refuses values that JSON cannot represent", () => {
    assert.throws(() => returned({ at: [1n] }), /result\.at\[0\]/);
  });
});

describe("thrownResponse()", () => {
  it("keeps the code, message and details of a ToolError", () => {
    assert.deepEqual(thrownResponse(new ToolError("not_found", "no such note", { id: 3 })), {
      ...{ success: false, errorCode: "not_found", errorMessage: "no such note" },
      result: { id: 3 },
    });
  });

  it("answers even if the details cannot be sent", () => {
    const response = thrownResponse(new ToolError("odd", "why", { at: () => {} }));
    assert.deepEqual([response.errorCode, response.result], ["odd", undefined]);
  });

  it("has a message for whatever was thrown", () => {
    assert.deepEqual(thrown(new RangeError("far")), { code: "handler_error", message: "far" });
    assert.equal(thrown(new RangeError()).message, "RangeError");
    assert.equal(thrown("plain").message, "plain");
  });
});

describe("chunkBytes()", () => {
  it("accepts text and bytes, and names anything else that was yielded", () => {
    assert.equal(String(chunkBytes("é").data), "é");
    assert.equal(chunkBytes("é").contentType, "text/plain; charset=utf-8");
    assert.deepEqual(chunkBytes(Uint8Array.of(1)), {
      data: Uint8Array.of(1),
      contentType: "application/octet-stream",
    });
    assert.throws(() => chunkBytes(null), /type null/);
    assert.throws(() => chunkBytes({}), /type object/);
  });
});
