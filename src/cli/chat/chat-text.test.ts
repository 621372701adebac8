import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { painted } from "../shell/layout.ts";
import { ChatText } from "./chat-text.ts";

const said = (text: string) => ({
  sessionUpdate: "agent_message_chunk",
  content: { type: "text", text },
});

function plain(...updates: object[]): string {
  const text = new ChatText(false);
  return updates.map((update) => text.update({ ...update })).join("") + text.end();
}

describe("ChatText", () => {
  it("prints one line for a tool call, when it is over", () => {
    const text = new ChatText(false);
    const call = { sessionUpdate: "tool_call", toolCallId: "1", title: "Run x", status: "pending" };
    assert.equal(text.update(call), "");
    assert.equal(text.running, "Run x");
    const update = { sessionUpdate: "tool_call_update", toolCallId: "1" };
    assert.equal(text.update({ ...update, status: "in_progress" }), "");
    assert.equal(text.update({ ...update, status: "completed" }), "✓ Run x\n");
    assert.equal(text.running, undefined);
    assert.equal(text.update({ ...update, status: "completed" }), "");
  });

  it("says why a tool call failed", () => {
    const content = [{ type: "content", content: { type: "text", text: "\nexit 1\nmore" } }];
    const call = { sessionUpdate: "tool_call", toolCallId: "1", title: "Run\nx", status: "failed" };
    assert.equal(plain({ ...call, content }), "✗ Run\\nx: exit 1\n");
  });

  it("begins a line of its own between answer, thought and tool call", () => {
    const thought = { ...said("hm"), sessionUpdate: "agent_thought_chunk" };
    const call = { sessionUpdate: "tool_call", toolCallId: "1", title: "T", status: "completed" };
    assert.equal(plain(thought, said("a"), said("b"), call, said("c")), "hm\nab\n✓ T\nc\n");
  });

  it("shows the changed lines of a diff with those around them, in colour", () => {
    const lines = Array.from({ length: 20 }, (_, at) => `line ${at}`);
    const diff = {
      type: "diff",
      path: "/a.txt",
      oldText: lines.join("\n"),
      newText: lines.with(9, "changed").join("\n"),
    };
    const call = {
      sessionUpdate: "tool_call",
      toolCallId: "1",
      title: "Edit",
      status: "completed",
    };
    assert.deepEqual(plain({ ...call, content: [diff] }).split("\n"), [
      "✓ Edit",
      "  /a.txt",
      "    …",
      "    line 7",
      "    line 8",
      "  - line 9",
      "  + changed",
      "    line 10",
      "    line 11",
      "    …",
      "",
    ]);
    const colored = painted(new ChatText(true).update({ ...call, content: [diff] }));
    assert.ok(
      colored.includes("\x1b[31m  - line 9\x1b[39m\n\x1b[32m  + changed\x1b[39m\n"),
      colored,
    );
  });

  it("bounds a diff", () => {
    const newText = Array.from({ length: 5_000 }, () => "x".repeat(5_000)).join("\n");
    const content = [{ type: "diff", path: "a", oldText: null, newText }];
    const call = { sessionUpdate: "tool_call", toolCallId: "1", title: "E", status: "completed" };
    const shown = plain({ ...call, content });
    assert.ok(shown.length < 10_000, String(shown.length));
    assert.match(shown, /… 4960 more lines\n$/);
  });

  it("shows a plan, and hostile titles in one line", () => {
    const entries = [
      { content: "one", status: "completed" },
      { content: "two\r\x1b[2J", status: "in_progress" },
    ];
    assert.equal(
      plain({ sessionUpdate: "plan", entries }),
      "Plan:\n  ✓ one\n  ▸ two\\u000d\\u001b[2J\n",
    );
  });
});
