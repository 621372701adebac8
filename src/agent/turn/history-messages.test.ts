import assert from "node:assert/strict";
import { describe, it } from "node:test";

import type { HistoryEntry, SessionUpdate } from "../../session/agent.ts";
import { historyMessages } from "./history-messages.ts";
import { SUMMARY } from "../../session/turn/replay.ts";
import { ASIDE } from "./speaker.ts";

async function* entries(...list: HistoryEntry[]): AsyncGenerator<readonly HistoryEntry[]> {
  yield list;
}

const prompt = (text: string): HistoryEntry => ({
  kind: "prompt",
  turnId: "t",
  prompt: [{ type: "text", text }],
});
const update = (fields: SessionUpdate): HistoryEntry => ({ kind: "update", update: fields });
const said = (text: string, more: object = {}): HistoryEntry =>
  update({ sessionUpdate: "agent_message_chunk", content: { type: "text", text }, ...more });
const end = (stopReason: "end_turn" | "cancelled" | "interrupted"): HistoryEntry => ({
  kind: "end",
  turnId: "t",
  stopReason,
});
const call = (toolCallId: string, more: object = {}): HistoryEntry =>
  update({ sessionUpdate: "tool_call", toolCallId, title: "Read a", name: "read_file", ...more });
const result = (toolCallId: string, status: string, content?: unknown): HistoryEntry =>
  update({ sessionUpdate: "tool_call_update", toolCallId, status, content });
const content = (text: string) => [{ type: "content", content: { type: "text", text } }];

describe("historyMessages()", () => {
  it("puts messages and calls into the order that a model expects", async () => {
    const messages = await historyMessages(
      entries(
        prompt("Look"),
        said("I "),
        said("look."),
        call("1", { rawInput: { path: "a" } }),
        result("1", "completed", content("one")),
        said("Done."),
        end("end_turn"),
      ),
    );
    assert.deepEqual(
      messages.map(({ role }) => role),
      ["user", "assistant", "tool", "assistant"],
    );
    assert.match(JSON.stringify(messages[1]), /"I look\.".*"tool-call".*"path":"a"/);
    assert.match(JSON.stringify(messages[2]), /"toolCallId":"1".*"value":"one"/);
    assert.match(JSON.stringify(messages[3]), /Done\./);
  });

  it("gives every call a result, however it ended", async () => {
    const messages = await historyMessages(
      entries(
        prompt("go"),
        call("1"),
        call("2", { name: undefined }),
        call("3"),
        result("2", "failed", content("no")),
        result("3", "completed", [{ type: "diff", path: "/a" }, { type: "terminal" }]),
        result("unknown", "completed", content("x")),
        end("interrupted"),
      ),
    );
    const [, assistant, tool, last] = messages;
    assert.match(JSON.stringify(assistant), /"toolName":"Read_a"/, "a name that providers take");
    const outputs = JSON.stringify(tool);
    assert.match(outputs, /Nobody knows how it ended/);
    assert.match(outputs, /"type":"error-text","value":"no"/);
    assert.match(outputs, /\(Changed \/a\.\)\\n\(It ran in a terminal\.\)/);
    assert.equal(last?.content, "(interrupted.)");
  });

  it("leaves out notices, and starts again at a summary in either form", async () => {
    const aside = await historyMessages(
      entries(prompt("a"), said("notice", { _meta: { [ASIDE]: true } }), said("yes")),
    );
    assert.doesNotMatch(JSON.stringify(aside), /notice/);
    const summary = [{ type: "text", text: "short" }];
    const compacted = { sessionUpdate: "compaction_update", status: "completed", summary };
    for (const entry of [update(compacted), said("x", { _meta: { [SUMMARY]: "short" } })]) {
      const messages = await historyMessages(
        entries(prompt("long"), said("old"), entry, said("new")),
      );
      assert.doesNotMatch(JSON.stringify(messages), /long|old/);
      assert.match(JSON.stringify(messages), /shortened.*short.*new/);
    }
    const begun = update({ sessionUpdate: "compaction_update", status: "in_progress" });
    assert.equal((await historyMessages(entries(prompt("long"), begun))).length, 1);
  });
});
