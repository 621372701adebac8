import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { visibleQuestion, visibleRequest, visibleUpdate } from "./visible-request.ts";

const OPTIONS = [{ optionId: "yes", name: "Yes", kind: "allow_once" }] as const;

describe("visibleRequest()", () => {
  it("escapes hidden characters in everything that a person reads, at any depth", () => {
    const { toolCall, options } = visibleRequest({
      toolCall: {
        toolCallId: "t",
        title: "rm \u202e",
        rawInput: { "k\u200bey": ["\u2066", { deep: "\u200f" }], count: 3, none: null },
      },
      options: [{ ...OPTIONS[0], name: "Yes\u200f" }],
    });
    assert.equal(toolCall.title, String.raw`rm \u202e`);
    assert.deepEqual(toolCall.rawInput, {
      [String.raw`k\u200bey`]: [String.raw`\u2066`, { deep: String.raw`\u200f` }],
      count: 3,
      none: null,
    });
    assert.equal(options[0]?.name, String.raw`Yes\u200f`);
  });

  it("leaves members that programs use unchanged", () => {
    const part = { type: "diff", path: "/a\u200bb", newText: "c\u200bd" };
    const link = { type: "terminal", terminalId: "t\u200b", uri: "u\u200b", data: "\u200b" };
    const { toolCall } = visibleRequest({
      toolCall: { toolCallId: "t\u200b", content: [part, link] },
      options: OPTIONS,
    });
    assert.equal(toolCall.toolCallId, "t\u200b");
    assert.deepEqual(toolCall.content, [{ ...part, newText: String.raw`c\u200bd` }, link]);
  });

  it("adds no members", () => {
    const request = {
      toolCall: { toolCallId: "t" },
      options: OPTIONS,
      subject: { action: "edit" },
    } as const;
    assert.deepEqual(visibleRequest(request), request);
  });
});

describe("visibleUpdate()", () => {
  it("escapes the title, and returns an update without hidden characters unchanged", () => {
    const plain = { sessionUpdate: "tool_call", title: "Edit é\n" };
    assert.equal(visibleUpdate(plain), plain);
    const untitled = { sessionUpdate: "plan", title: 7 };
    assert.equal(visibleUpdate(untitled), untitled);
    const hidden = { sessionUpdate: "tool_call", title: "a\u202eb" };
    assert.equal(visibleUpdate(hidden).title, String.raw`a\u202eb`);
  });
});

describe("visibleQuestion()", () => {
  it("escapes what a person reads, and refuses what they would choose without seeing it", () => {
    const form = (field: object) => ({
      ...{ mode: "form", message: "a\u202e", other: "\u202e" },
      requestedSchema: { type: "object", properties: { title: field } },
    });
    const fine = { type: "string", title: "b\u202e", default: "c\u202e", enum: ["d"] };
    assert.deepEqual(visibleQuestion(form(fine)), {
      ...form({ ...fine, title: String.raw`b\u202e` }),
      message: String.raw`a\u202e`,
    });
    for (const odd of [
      { enum: ["a", "b\u202e"] },
      { oneOf: [{ const: "b\u202e", title: "b" }] },
      { items: { enum: ["b\u202e"] } },
    ]) {
      assert.throws(() => visibleQuestion(form(odd)), /'b\\u202e': a person would not see all/);
    }
    const requestedSchema = { properties: { "a\u202e": {} } };
    assert.throws(() => visibleQuestion({ requestedSchema }), /would not see/);
  });
});
