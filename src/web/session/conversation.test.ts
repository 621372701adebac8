import assert from "node:assert/strict";
import { test } from "node:test";

import type { LogEvent } from "../../server/dashboard/session-api.ts";
import { Conversation, titleOf } from "./conversation.ts";

/** A log of several turns with everything that spans events. */
function sampleLog(): LogEvent[] {
  const messages: object[] = [];
  const update = (fields: object): void => void messages.push({ kind: "update", update: fields });
  for (let turn = 0; turn < 4; turn++) {
    const toolCallId = `t${turn}`;
    messages.push({ kind: "prompt", by: "zed", prompt: [{ type: "text", text: `do ${turn}` }] });
    for (const text of ["I ", "will ", "look."]) {
      update({ sessionUpdate: "agent_message_chunk", content: { type: "text", text } });
    }
    update({ sessionUpdate: "tool_call", toolCallId, title: "Read", status: "pending" });
    const request = { toolCall: { toolCallId, title: "Read" }, options: [] };
    messages.push({ kind: "permission", requestId: `p${turn}`, request });
    const outcome = { outcome: "selected", optionId: "a", kind: "allow_once" };
    messages.push({ kind: "answer", requestId: `p${turn}`, outcome, by: "zed" });
    update({ sessionUpdate: "tool_call_update", toolCallId, status: "completed", title: null });
    update({ sessionUpdate: "plan", entries: [{ content: `step ${turn}`, status: "pending" }] });
    update({ sessionUpdate: "agent_message_chunk", content: { type: "text", text: "Done." } });
    messages.push({ kind: "end", stopReason: turn === 3 ? "cancelled" : "end_turn" });
  }
  return messages.map((message, index) => {
    return { seq: index + 1, at: 1000 + index, direction: "agent", message };
  });
}

function whole(): Conversation {
  const conversation = new Conversation();
  conversation.append(sampleLog());
  return conversation;
}

test("Conversation joins chunks, updates of a tool call, and a permission with its answer", () => {
  const { entries, plan } = whole();
  assert.equal(entries.length, 4 * 5 + 1);
  const [prompt, said, tool, permission] = entries;
  assert.partialDeepStrictEqual(prompt, { kind: "prompt", text: "do 0", by: "zed" });
  assert.partialDeepStrictEqual(said, { kind: "message", text: "I will look." });
  assert.partialDeepStrictEqual(tool, { call: { title: "Read", status: "completed" } });
  assert.partialDeepStrictEqual(permission, { title: "Read", answer: "allow_once", by: "zed" });
  assert.partialDeepStrictEqual(entries.at(-1), { kind: "note", text: "Turn ended: cancelled" });
  assert.deepEqual(plan, [{ content: "step 3", status: "pending" }]);
});

test("Conversation is the same in whatever pages it is read, from the end to the start", () => {
  const log = sampleLog();
  for (let size = 1; size <= log.length; size++) {
    const conversation = new Conversation();
    for (let end = log.length; end > 0; end -= size) {
      const page = log.slice(Math.max(0, end - size), end);
      const count = conversation.entries.length;
      if (conversation.first === undefined) conversation.append(page);
      else assert.equal(conversation.prepend(page), conversation.entries.length - count);
    }
    assert.deepEqual(conversation.entries, whole().entries, `pages of ${size}`);
    assert.deepEqual(conversation.plan, whole().plan);
    assert.equal(conversation.first, 1);
  }
});

test("Conversation takes later events after earlier pages were put in front", () => {
  const log = sampleLog();
  const conversation = new Conversation();
  conversation.append(log.slice(15, 25));
  conversation.prepend(log.slice(7, 15));
  conversation.prepend(log.slice(0, 8));
  conversation.append(log.slice(20));
  assert.deepEqual(conversation.entries, whole().entries);
});

test("Conversation shows what commands put out, and a subagent as a tool call with what it said", () => {
  const terminal_output_delta = (data: string): object => ({
    _meta: { terminal_output_delta: { terminal_id: "t", data } },
  });
  const trunkline = { subagent: "s/child" };
  const updates: object[] = [
    { sessionUpdate: "tool_call", toolCallId: "t", title: "ls" },
    { sessionUpdate: "tool_call_update", toolCallId: "t", ...terminal_output_delta("one\n") },
    { sessionUpdate: "tool_call_update", toolCallId: "t", ...terminal_output_delta("two\n") },
    { sessionUpdate: "subagent_update", sessionId: "s/child", title: "Scout" },
    {
      ...{ sessionUpdate: "agent_message_chunk", content: { type: "text", text: "I looked." } },
      _meta: { trunkline },
    },
    { sessionUpdate: "usage_update", used: 1, size: 2, _meta: { trunkline } },
    { sessionUpdate: "subagent_update", sessionId: "s/child", state: { state: "idle" } },
    { sessionUpdate: "plan_update", plan: { type: "items", planId: "p", entries: [] } },
  ];
  const conversation = new Conversation();
  const event = (update: object, at: number): LogEvent => {
    return { seq: at + 1, at, direction: "agent", message: { kind: "update", update } };
  };
  // In two batches, as they come live.
  const events = updates.map(event);
  conversation.append(events.slice(0, 2));
  conversation.append(events.slice(2));
  const calls = conversation.entries.map((entry) => (entry.kind === "tool" ? entry.call : {}));
  assert.deepEqual(
    calls.map(({ title, output, status }) => [title, output, status]),
    [
      ["ls", "one\ntwo\n", undefined],
      ["Scout", "I looked.", "completed"],
    ],
  );
  assert.deepEqual([conversation.plan, conversation.usage], [[], undefined]);
});

test("titleOf() leaves out the marks of a title that is all code", () => {
  assert.equal(titleOf({ title: "`git status`" }), "git status");
  assert.equal(titleOf({ title: "Read `a` and `b`" }), "Read `a` and `b`");
  assert.equal(titleOf({ title: 1 }), undefined);
});
