import assert from "node:assert/strict";
import { describe, it } from "node:test";

import type { SessionEvent } from "../../session/event.ts";
import { terminalText } from "../shell/layout.ts";
import { conversationText } from "./conversation-text.ts";

const said = (text: string) => ({
  sessionUpdate: "agent_message_chunk",
  content: { type: "text", text },
});

function plain(...updates: object[]): string {
  const text = conversationText();
  return updates.map((update) => text.update({ ...update })).join("") + text.end();
}

describe("conversationText()", () => {
  it("prints one line when a tool call begins, and one when it is over", () => {
    const text = conversationText();
    const call = { sessionUpdate: "tool_call", toolCallId: "1", title: "Run x", status: "pending" };
    assert.equal(text.update(call), "- Run x\n");
    const update = { sessionUpdate: "tool_call_update", toolCallId: "1" };
    assert.equal(text.update({ ...update, status: "in_progress" }), "");
    assert.equal(text.update({ ...update, status: "completed" }), "✓ Run x\n");
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
      "  /a.txt +1 -1",
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
    const colored = terminalText(
      conversationText({ color: true }).update({ ...call, content: [diff] }),
    );
    assert.ok(
      colored.includes("  \x1b[31m- line 9\x1b[39m\n  \x1b[32m+ changed\x1b[39m\n"),
      colored,
    );
  });

  it("bounds a diff", () => {
    const newText = Array.from({ length: 5_000 }, () => "x".repeat(5_000)).join("\n");
    const content = [{ type: "diff", path: "a", oldText: null, newText }];
    const call = { sessionUpdate: "tool_call", toolCallId: "1", title: "E", status: "completed" };
    const shown = plain({ ...call, content });
    assert.ok(shown.length < 10_000, String(shown.length));
    assert.match(shown, /… 4962 more lines\n$/);
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

  it("prints the start of a tool call where no status line shows it", () => {
    const text = conversationText();
    const call = { sessionUpdate: "tool_call", toolCallId: "1", title: "Read a.txt" };
    const update = { sessionUpdate: "tool_call_update", toolCallId: "1" };
    const parts = [
      text.update({ ...said("Do it\nnow"), sessionUpdate: "user_message_chunk" }),
      text.update(said("I w")),
      text.update(said("ill.")),
      text.update(call),
      text.update({ ...update, status: "in_progress" }),
      text.update({ ...update, status: "completed" }),
      text.update(said("Done.\n")),
      text.update({ ...call, toolCallId: "2", title: "Again" }),
    ];
    assert.equal(
      parts.join(""),
      "> Do it\n> now\nI will.\n- Read a.txt\n✓ Read a.txt\nDone.\n- Again\n",
    );
  });

  it("sets Markdown in colour, block by block, and passes on no escape sequence of it", () => {
    const text = conversationText({ color: true, width: 40 });
    const shown = (printed: string): string =>
      terminalText(printed)
        .replaceAll("\x1b", "ESC")
        .replaceAll(/ESC\[(\d+)m/g, "<$1>");
    assert.equal(shown(text.update(said("## He"))), "");
    assert.equal(shown(text.update(said("ad\n\nA **b\x1b[2J** `c`\n"))), "<1>Head<22>\n");
    const rest = "\nA <1>b\\u001b[2J<22> <36>c<39>\n";
    assert.equal(shown(text.rest()), rest);
    assert.equal(text.rest(), "");
    const call = { sessionUpdate: "tool_call", toolCallId: "1", title: "T" };
    assert.equal(shown(text.update(said("Now:")) + text.update(call)), "Now:\n<2>- T<22>\n");
    assert.equal(shown(text.update(said("Done")) + text.end()), "Done\n");
  });

  it("leaves Markdown as it was written where there are no colours, and prints it at once", () => {
    for (const options of [{}, { width: 40 }, { color: true }]) {
      const text = conversationText(options);
      assert.equal(text.update(said("# a **b** `c`\n```")), "# a **b** `c`\n```");
      assert.equal(text.rest() + text.end(), "\n");
    }
  });

  it("prints nothing for unknown updates", () => {
    assert.equal(plain({ sessionUpdate: "usage_update", used: 1 }), "");
  });

  it("names content that is not text", () => {
    const content = { type: "resource_link", uri: "file:///a" };
    const update = { sessionUpdate: "agent_message_chunk", content };
    assert.equal(plain(update), "[resource_link file:///a]\n");
  });

  it("shows questions, who answered them, and how a turn ended unless it succeeded", () => {
    const request = { toolCall: { toolCallId: "1", title: "Delete a.txt" }, options: [] };
    const outcome = { outcome: "selected", optionId: "o", kind: "allow_once" } as const;
    const events: SessionEvent[] = [
      { kind: "permission", turnId: "t", requestId: "r", request },
      { kind: "answer", requestId: "r", outcome, by: "zed" },
      { kind: "setting", setting: "mode", id: "ask" },
      { kind: "end", turnId: "t", stopReason: "interrupted", error: "it died" },
      { kind: "end", turnId: "u", stopReason: "end_turn" },
    ];
    const text = conversationText();
    const shown = events.map((event, seq) => {
      return text.event({ seq, at: "now", direction: "agent", event });
    });
    assert.equal(
      shown.join(""),
      "? Delete a.txt\n  allow once (zed)\n* mode ask\n! interrupted: it died\n",
    );
    const permission = { state: "answered", by: "zed", outcome };
    assert.equal(
      plain({ sessionUpdate: "session_info_update", _meta: { trunkline: { permission } } }),
      "  allow once (zed)\n",
    );
  });
});
