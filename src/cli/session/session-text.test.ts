import assert from "node:assert/strict";
import { describe, it } from "node:test";

import type { SessionEvent } from "../../session/event.ts";
import { sessionTable, SessionText } from "./session-text.ts";

const said = (sessionUpdate: string, text: string) => ({
  sessionUpdate,
  content: { type: "text", text },
});

/** Events as one text, without colours. */
function render(...events: SessionEvent[]): string {
  const text = new SessionText(false);
  return events
    .map((event, seq) => text.event({ seq, at: "now", direction: "agent", event }))
    .join("");
}

describe("SessionText", () => {
  it("joins the pieces of a message, and starts the next one on a new line", () => {
    const text = new SessionText(false);
    const parts = [
      text.update(said("user_message_chunk", "Do it\nnow")),
      text.update(said("agent_message_chunk", "I w")),
      text.update(said("agent_message_chunk", "ill.")),
      text.update({ sessionUpdate: "tool_call", title: "Read a.txt" }),
      text.update({ sessionUpdate: "tool_call_update", title: "Read a.txt", status: "completed" }),
      text.update(said("agent_message_chunk", "Done.\n")),
      text.update({ sessionUpdate: "tool_call", title: "Again" }),
    ];
    assert.equal(
      parts.join(""),
      "> Do it\n> now\nI will.\n- Read a.txt\n  Read a.txt completed\nDone.\n- Again\n",
    );
  });

  it("leaves out unfinished tool calls and unknown updates", () => {
    const text = new SessionText(false);
    assert.equal(text.update({ sessionUpdate: "tool_call_update", status: "in_progress" }), "");
    assert.equal(text.update({ sessionUpdate: "usage_update", used: 1 }), "");
  });

  it("names content that is not text", () => {
    const content = { type: "resource_link", uri: "file:///a" };
    const text = new SessionText(false).update({ sessionUpdate: "agent_message_chunk", content });
    assert.equal(text, "[resource_link file:///a]");
  });

  it("shows questions, who answered them, and how a turn ended unless it succeeded", () => {
    const request = { toolCall: { toolCallId: "1", title: "Delete a.txt" }, options: [] };
    assert.equal(
      render(
        { kind: "permission", turnId: "t", requestId: "r", request },
        {
          kind: "answer",
          requestId: "r",
          outcome: { outcome: "selected", optionId: "o", kind: "allow_once" },
          by: "zed",
        },
        { kind: "setting", setting: "mode", id: "ask" },
        { kind: "end", turnId: "t", stopReason: "interrupted", error: "it died" },
        { kind: "end", turnId: "u", stopReason: "end_turn" },
      ),
      "? Delete a.txt\n  allow once (zed)\n* mode ask\n! interrupted: it died\n",
    );
  });
});

describe("sessionTable()", () => {
  const SESSION = {
    id: "0123456789abcdef",
    cwd: "/work",
    agent: "trunkline",
    title: undefined,
    parent: undefined,
    created: 0,
    updated: 0,
    isHeld: false,
    state: "" as const,
    isDeleted: false,
    notes: {},
    seq: 0,
  };

  it("has no empty column, and escapes hidden characters in titles", () => {
    const text = sessionTable([{ ...SESSION, title: "a\x1b[2J\nb" }], 80);
    const [head = "", row = ""] = text.split("\n");
    assert.match(head, /^ID +LAST USED +AGENT +TITLE +FOLDER$/);
    assert.match(row, /^01234567 {2}1970-01-01 00:00 {2}trunkline {2}a\\u001b\[2J {2}\/work$/);
  });

  it("marks open sessions, and sessions without a prompt", () => {
    const text = sessionTable([{ ...SESSION, state: "open" }], 80);
    assert.match(text, /^ID +LAST USED +STATE +AGENT +TITLE +FOLDER\n/);
    assert.match(text, / open {3}trunkline {2}\(no prompt yet\) /);
  });

  it("names the repository of a remote run, not the folder it works in", () => {
    const run = { url: "https://git.test/app.git" };
    const text = sessionTable([{ ...SESSION, state: "closed", notes: { run } }], 100);
    assert.match(text, / closed .* https:\/\/git\.test\/app\.git\n$/);
  });
});
