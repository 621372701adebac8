import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { optionsInV2, toolCallInV2, updateInV2 } from "./codec.ts";

describe("updateInV2()", () => {
  it("uses one kind of update for a tool call, from its beginning to its end", () => {
    const call = { sessionUpdate: "tool_call", toolCallId: "t", title: "T" };
    assert.deepEqual(updateInV2(call), { ...call, sessionUpdate: "tool_call_update" });
  });

  it("names the plan, and keeps members beside its entries", () => {
    const entries = [{ content: "Look" }];
    assert.deepEqual(updateInV2({ sessionUpdate: "plan", entries, _meta: { a: 1 } }), {
      sessionUpdate: "plan_update",
      plan: { type: "items", planId: "plan", entries },
      _meta: { a: 1 },
    });
  });

  it("adds the type to commands and their input", () => {
    const availableCommands = [
      { name: "a", input: { hint: "TEXT" } },
      { name: "b", input: null },
    ];
    const update = updateInV2({ sessionUpdate: "available_commands_update", availableCommands });
    assert.deepEqual(update?.availableCommands, [
      { type: "command", name: "a", input: { type: "text", hint: "TEXT" } },
      { type: "command", name: "b" },
    ]);
  });

  it("drops a mode, which is also an option, and passes unknown updates on", () => {
    assert.equal(
      updateInV2({ sessionUpdate: "current_mode_update", currentModeId: "a" }),
      undefined,
    );
    const unknown = { sessionUpdate: "of_the_future", a: 1 };
    assert.equal(updateInV2(unknown), unknown);
  });
});

describe("optionsInV2()", () => {
  it("uses version 2's names for the ids of options and groups", () => {
    const options = [{ group: "g", name: "G", options: [] }, { value: "v" }];
    assert.deepEqual(optionsInV2([{ id: "mode", name: "Mode", options }, { id: "fast" }]), [
      {
        configId: "mode",
        name: "Mode",
        options: [{ groupId: "g", name: "G", options: [] }, { value: "v" }],
      },
      { configId: "fast" },
    ]);
    assert.deepEqual(optionsInV2(undefined), []);
  });
});

describe("toolCallInV2()", () => {
  const diff = { type: "diff", path: "/a.ts", oldText: "one\n", newText: "two\n" };

  it("shows a change as a patch, and marks a new file", () => {
    const { content } = toolCallInV2({ content: [diff, { ...diff, oldText: null }] });
    const [modified, added] = content as { changes: object[]; patch: { text: string } }[];
    assert.deepEqual(modified?.changes, [{ operation: "modify", path: "/a.ts", fileType: "text" }]);
    assert.match(modified?.patch.text ?? "", /^diff --git a\/a\.ts b\/a\.ts\n[^]*-one\n\+two\n/);
    assert.match(JSON.stringify(added), /"operation":"add".*new file mode/);
  });

  it("counts the lines of an excerpt from its first line", () => {
    const _meta = { "trunkline/excerpt": { firstLine: 100 } };
    const { content } = toolCallInV2({ content: [{ ...diff, _meta }] });
    assert.match(JSON.stringify(content), /@@ -100,1 \+100,1 @@/);
  });

  it("leaves out a patch that is too long for an update, unless a person must allow it", () => {
    const long = { ...diff, newText: "x\n".repeat(40_000) };
    assert.doesNotMatch(JSON.stringify(toolCallInV2({ content: [long] })), /patch/);
    assert.match(JSON.stringify(toolCallInV2({ content: [long] }, Infinity)), /git_patch/);
  });

  it("leaves out line numbers that version 2 does not have, and keeps other content", () => {
    const locations = [
      { path: "/a", line: 0 },
      { path: "/b", line: 3 },
      { path: "/c", line: null },
    ];
    const text = { type: "content", content: { type: "text", text: "a" } };
    assert.deepEqual(toolCallInV2({ locations, content: [text] }), {
      locations: [{ path: "/a" }, { path: "/b", line: 3 }, { path: "/c" }],
      content: [text],
    });
    assert.deepEqual(toolCallInV2({ toolCallId: "t" }), { toolCallId: "t" });
  });
});
