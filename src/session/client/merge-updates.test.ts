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

const merged = (first: SessionUpdate, second: SessionUpdate, maxBytes: number): unknown =>
  JSON.parse(JSON.stringify(mergeUpdates(first, second, maxBytes)));

describe("mergeUpdates()", () => {
  it("joins text of one message, up to the limit", () => {
    const most = Buffer.byteLength(JSON.stringify(chunk("abcd")));
    assert.deepEqual(merged(chunk("ab"), chunk("cd"), most), chunk("abcd"));
    assert.equal(mergeUpdates(chunk("ab"), chunk("cd"), most - 1), undefined);
    const id = { messageId: "m" };
    assert.deepEqual(merged(chunk("a", id), chunk("b", id), 999), chunk("ab", id));
  });

  it("uses the later fields of a tool call", () => {
    const [begun, failed] = [
      tool({ status: "in_progress", title: "T" }),
      tool({ status: "failed" }),
    ];
    assert.deepEqual(merged(begun, failed, 1), tool({ status: "failed", title: "T" }));
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
