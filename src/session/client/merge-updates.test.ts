import assert from "node:assert/strict";
import { describe, it } from "node:test";

import type { SessionUpdate } from "../agent.ts";
import { mergeUpdates } from "./merge-updates.ts";

const chunk = (text: string, more: object = {}): SessionUpdate => ({
  sessionUpdate: "agent_message_chunk",
  content: { type: "text", text },
  ...more,
});
const tool = (more: object): SessionUpdate => ({
  sessionUpdate: "tool_call_update",
  toolCallId: "t",
  ...more,
});

describe("mergeUpdates()", () => {
  it("joins text of one message, up to the limit", () => {
    assert.deepEqual(mergeUpdates(chunk("ab"), chunk("cd"), 4), chunk("abcd"));
    assert.equal(mergeUpdates(chunk("ab"), chunk("cde"), 4), undefined);
    const id = { messageId: "m" };
    assert.deepEqual(mergeUpdates(chunk("a", id), chunk("b", id), 9), chunk("ab", id));
  });

  it("uses the later fields of a tool call", () => {
    const merged = mergeUpdates(
      tool({ status: "in_progress", title: "T" }),
      tool({ status: "failed" }),
      1,
    );
    assert.deepEqual(merged, tool({ status: "failed", title: "T" }));
  });

  for (const [what, first, second] of [
    ["another kind", chunk("a"), { ...chunk("b"), sessionUpdate: "agent_thought_chunk" }],
    ["another message", chunk("a", { messageId: "1" }), chunk("b", { messageId: "2" })],
    ["a message without an id", chunk("a", { messageId: "1" }), chunk("b")],
    ["what has _meta", chunk("a", { _meta: {} }), chunk("b")],
    ["what has _meta after", chunk("a"), chunk("b", { _meta: {} })],
    ["an image", chunk("a"), { ...chunk(""), content: { type: "image", data: "" } }],
    [
      "annotated text",
      chunk("a"),
      { ...chunk(""), content: { type: "text", text: "b", annotations: {} } },
    ],
    ["another tool call", tool({}), tool({ toolCallId: "u" })],
    ["a tool call with _meta", tool({ _meta: {} }), tool({})],
    ["a plan", { sessionUpdate: "plan", entries: [] }, { sessionUpdate: "plan", entries: [] }],
  ] as const) {
    it(`does not merge with ${what}`, () => {
      assert.equal(mergeUpdates(first, second, 1_000), undefined);
    });
  }
});
