import { create, type JsonObject } from "@bufbuild/protobuf";
import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { covers } from "../../../../test/support/requirement.ts";
import type { ToolResult } from "../../../tool/tool.ts";
import { ToolResponseSchema } from "../plugin.gen.ts";
import { fromToolResponse, toToolResponse } from "./tool-result.ts";

const text = (value: string) => ({ type: "text", text: value });

function answered(result?: JsonObject): ToolResult {
  const response = { success: true, ...(result === undefined ? {} : { result }) };
  return fromToolResponse(create(ToolResponseSchema, response));
}

describe("fromToolResponse()", () => {
  it("is the text if there is one", () => {
    covers("bus.tools-call.text");
    const words = "Created FEAT-ABC: Add login page";
    assert.deepEqual(answered({ text: words }), { content: [text(words)] });
    assert.deepEqual(answered({ text: "" }), { content: [text("")] });
  });

  it("is the whole result as JSON if there is no text", () => {
    covers("bus.tools-call.json");
    const result = { total: 2, items: [null, { b: true, a: "<é>" }] };
    const json = `{"items":[null,{"a":"<é>","b":true}],"total":2}`;
    assert.deepEqual(answered(result), { content: [text(json)], structuredContent: result });
    assert.deepEqual(answered({ text: 5 }).content, [text(`{"text":5}`)]);
    assert.deepEqual(answered({ text: null }).content, [text(`{"text":null}`)]);
    assert.deepEqual(answered({}), { content: [text("{}")] });
    assert.deepEqual(answered(), { content: [text("")] });
  });

  it("keeps members beside the text as structured content", () => {
    const ui = { kind: "table", rows: [1] };
    assert.deepEqual(answered({ text: "a table", ui }), {
      content: [text("a table")],
      structuredContent: { ui },
    });
  });

  it("does not treat a plugin's own 'content' as that of MCP", () => {
    for (const content of [["chapter one"], [text("something else")], [{ type: "html" }], []]) {
      assert.deepEqual(answered({ text: "a book", content }), {
        content: [text("a book")],
        structuredContent: { content },
      });
    }
  });

  it("begins with the code of a failure, as the specification does, then the message", () => {
    covers("bus.tools-call.error");
    const failed = (fields: object) =>
      fromToolResponse(create(ToolResponseSchema, { success: false, ...fields }));
    assert.deepEqual(failed({ errorCode: "validation_error" }), {
      content: [text("tool error: validation_error")],
      isError: true,
    });
    assert.deepEqual(failed({ errorCode: "not_found", errorMessage: "no FEAT-1" }), {
      content: [text("tool error: not_found"), text("no FEAT-1")],
      isError: true,
    });
    assert.deepEqual(failed({ errorMessage: "why", result: { at: 1 } }), {
      content: [text("tool error"), text("why")],
      isError: true,
      structuredContent: { at: 1 },
    });
  });
});

describe("toToolResponse()", () => {
  it("contains a text for readers of text only", () => {
    assert.deepEqual(toToolResponse({ content: [text("done")] }), {
      success: true,
      result: { text: "done" },
    });
    const link = { type: "resource_link", uri: "file:///a", name: "a" };
    const image = { type: "image", data: "AAAA", mimeType: "image/png" };
    const { result } = toToolResponse({ content: [text("see"), link, image] });
    assert.equal(result?.text, "see\na: file:///a\n[image, image/png]");
  });

  it("has the members of structured content beside the text", () => {
    const result = { content: [text("2 items")], structuredContent: { total: 2 } };
    assert.deepEqual(toToolResponse(result).result, { text: "2 items", total: 2 });
  });

  it("is a failure if the tool says so", () => {
    assert.deepEqual(toToolResponse({ content: [text("no such file")], isError: true }), {
      success: false,
      errorCode: "tool_error",
      errorMessage: "no such file",
    });
  });

  it("has the specification's code if the arguments were refused", () => {
    const _meta = { "trunkline/fault": "invalid-arguments" };
    const refused = { content: [text("'name' is missing")], isError: true, _meta };
    assert.deepEqual(toToolResponse(refused), {
      success: false,
      errorCode: "validation_error",
      errorMessage: "'name' is missing",
    });
  });

  const results: Record<string, ToolResult> = {
    "one text": { content: [text("a")] },
    "several texts": { content: [text("a"), text("b")] },
    "a text with annotations": { content: [{ ...text("a"), annotations: { priority: 1 } }] },
    "an image": { content: [{ type: "image", data: "AAAA", mimeType: "image/png" }] },
    "a sound": { content: [{ type: "audio", data: "AAAA", mimeType: "audio/wav" }] },
    "a resource": { content: [{ type: "resource", resource: { uri: "a:b", text: "hello" } }] },
    "bytes of a resource": {
      content: [{ type: "resource", resource: { uri: "a:b", blob: "AA" } }],
    },
    "a text and a structure": { content: [text("a")], structuredContent: { n: 1, list: [] } },
    "a structure with a text": { content: [text("a")], structuredContent: { text: "b", c: 1 } },
    "a structure with content": {
      content: [text("a")],
      structuredContent: { content: [text("a")] },
    },
    "a structure in a structure": {
      content: [text("a")],
      structuredContent: { structuredContent: 1 },
    },
    "a structure that is a list": { content: [text("a")], structuredContent: [1, null] },
    "an image and a structure": {
      content: [text("a"), { type: "image", data: "AAAA", mimeType: "image/png" }],
      structuredContent: { n: 1 },
    },
    "only a structure": { content: [text(`{"n":1}`)], structuredContent: { n: 1 } },
  };
  for (const [name, result] of Object.entries(results)) {
    it(`restores ${name} unchanged`, () => {
      const response = create(ToolResponseSchema, toToolResponse(result));
      assert.deepEqual(fromToolResponse(response), result);
    });
  }

  it("leaves the text of a structure without one to the reader", () => {
    const bare = toToolResponse({ content: [], structuredContent: { b: 1, a: 2 } });
    assert.deepEqual(bare.result, { b: 1, a: 2 });
  });
});
