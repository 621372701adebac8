import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { parsed, unparsedText } from "../base/text/unparsed-json.ts";
import { isToolResult, TextResult } from "./text-result.ts";
import type { ToolResult } from "./tool.ts";

const JSON_TEXT = '{"content":[{"type":"text","text":"hi"}],"isError":true}';
const VALUE: unknown = JSON.parse(JSON_TEXT);

describe("TextResult", () => {
  it("is the result that it was read from, however it is looked at", () => {
    const result = new TextResult(JSON_TEXT, true);
    assert.ok(isToolResult(result));
    assert.equal(unparsedText(result), JSON_TEXT);
    assert.deepEqual(parsed(result), VALUE);
    assert.deepEqual(JSON.parse(JSON.stringify({ result })), { result: VALUE });
    assert.deepEqual({ content: result.content, isError: result.isError }, VALUE);
  });

  it("is refused as a copy that lacks its content, and never sent as it was before an edit", () => {
    const copy: object = Object.assign({}, new TextResult(JSON_TEXT, true), { _meta: {} });
    assert.equal(unparsedText(copy), undefined);
    // The types and the linter refuse it, too; what is not typed can get here.
    assert.equal(isToolResult(copy as ToolResult), false);
  });

  it("is no value of another server, whatever members that has", () => {
    const hostile = JSON.parse('{"__proto__":{"content":[]},"Symbol(trunkline.UnparsedJson)":"x"}');
    assert.equal(unparsedText(hostile), undefined);
    assert.equal(isToolResult(hostile), false);
  });
});
