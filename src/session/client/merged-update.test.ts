import assert from "node:assert/strict";
import { describe, it } from "node:test";

import type { SessionUpdate } from "../agent.ts";
import { MergedUpdate } from "./merged-update.ts";

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

const jsonBytes = (value: unknown): number => Buffer.byteLength(JSON.stringify(value));
const merged = (first: SessionUpdate, second: SessionUpdate, maxBytes: number): unknown => {
  const whole = new MergedUpdate(first);
  const isMerged = whole.add(second, maxBytes);
  if (!isMerged) assert.deepEqual(whole.update, first);
  return isMerged ? whole.update : undefined;
};

describe("MergedUpdate", () => {
  it("joins text of one message, up to the limit", () => {
    const most = Buffer.byteLength(JSON.stringify(chunk("abcd")));
    assert.deepEqual(merged(chunk("ab"), chunk("cd"), most), chunk("abcd"));
    assert.equal(merged(chunk("ab"), chunk("cd"), most - 1), undefined);
    const id = { messageId: "m" };
    assert.deepEqual(merged(chunk("a", id), chunk("b", id), 999), chunk("ab", id));
  });

  it("joins texts whose characters JSON escapes, also halves of a surrogate pair", () => {
    const texts = ["\\", '"', "\u0000", "\ud83d", "\ude42", "é", "\u2028", ""];
    const joined = new MergedUpdate(chunk(""));
    for (const text of texts) assert.ok(joined.add(chunk(text), 1_000));
    assert.deepEqual(joined.update, chunk(texts.join("")));
    assert.equal(joined.add(chunk("x"), jsonBytes(joined.update)), false);
  });

  it("keeps to the limit with text of any kind", () => {
    for (const text of ["a", "\u0000", "\ud83d", "€", "🙂"]) {
      const joined = new MergedUpdate(chunk(text));
      let count = 1;
      while (joined.add(chunk(text), 500)) count++;
      assert.deepEqual(joined.update, chunk(text.repeat(count)));
      assert.ok(jsonBytes(joined.update) <= 500);
      assert.ok(jsonBytes(chunk(text.repeat(count + 1))) > 500, "no more would fit");
    }
  });

  it("joins a flood in time that grows with its length alone", () => {
    const part = chunk("0123456789");
    const joined = new MergedUpdate(part);
    const began = process.cpuUsage();
    for (let at = 0; at < 100_000; at++) assert.ok(joined.add(part, Infinity));
    const bytes = jsonBytes(joined.update);
    assert.equal(joined.add(chunk("x"), bytes), false);
    assert.equal(joined.add(chunk("x"), bytes + 1), true);
    // Some milliseconds; counting the text each time would take a minute.
    assert.ok(process.cpuUsage(began).user < 10_000_000);
  });

  it("uses the later fields of a tool call", () => {
    const [begun, failed] = [
      tool({ status: "in_progress", title: "T" }),
      tool({ status: "failed" }),
    ];
    assert.deepEqual(merged(begun, failed, 1), tool({ status: "failed", title: "T" }));
    const call = { ...begun, sessionUpdate: "tool_call" };
    const all = { ...failed, title: null, rawOutput: 1 };
    assert.deepEqual(merged(call, all, 1), { ...call, status: "failed", rawOutput: 1 });
  });

  it("joins the output of a command, and keeps what else _meta has", () => {
    const piece = (data: string, more: object = {}): SessionUpdate =>
      tool({ _meta: { terminal_output_delta: { terminal_id: "t", data }, a: 1, ...more } });
    const end = { terminal_exit: { terminal_id: "t", exit_code: 0 } };
    assert.deepEqual(merged(piece("x"), piece("x", end), 1_000), piece("xx", end));
    assert.equal(merged(piece("x"), piece("y"), 100), undefined);
    const other = { mcp_output_delta: { data: "x" } };
    assert.equal(merged(piece("", other), piece("", other), 1_000), undefined);
  });

  for (const [what, first, second] of [
    ["another kind", chunk("a"), { ...chunk("b"), sessionUpdate: "agent_thought_chunk" }],
    ["another message", chunk("a", { messageId: "1" }), chunk("b", { messageId: "2" })],
    ["a message without an id", chunk("a", { messageId: "1" }), chunk("b")],
    ["what has _meta", chunk("a", { _meta: {} }), chunk("b")],
    ["another _meta", chunk("a", { _meta: { a: 1 } }), chunk("b", { _meta: { a: 2 } })],
    ["another _meta of a tool call", tool({ _meta: { a: 1 } }), tool({ _meta: { a: 2 } })],
    ["what has _meta after", chunk("a"), chunk("b", { _meta: {} })],
    ["another member", chunk("a", { messageId: "1" }), chunk("b", { other: undefined })],
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
      assert.equal(merged(first, second, 1_000), undefined);
    });
  }
});
