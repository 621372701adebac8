import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { AgentRig } from "../../../test/agent/agent-rig.ts";
import { groupEnd } from "../../../test/agent/group-end.ts";
import { FakeLlm } from "../../../test/agent/fake-llm.ts";

const SLEEPERS = "echo $$ > pid; sleep 71 & sleep 72";

describe("a turn", () => {
  it("gives each call its own id, though the model reuses ids", async () => {
    const toolCalls = [{ name: "git_status", arguments: {} }];
    await using llm = await FakeLlm.start([
      { toolCalls },
      { content: "One." },
      { toolCalls },
      { content: "Two." },
    ]);
    await using rig = new AgentRig({ llm });
    const session = await rig.open();
    const first = await rig.turnOf(session, "one");
    const second = await rig.turnOf(session, "two");
    const ids = [first, second]
      .flatMap(({ turn }) => turn.ofKind("tool_call"))
      .map((each) => each.toolCallId);
    assert.equal(new Set(ids).size, 2);
  });

  it("asks once more after an empty answer, and fails with a reason after the second", async () => {
    await using llm = await FakeLlm.start([{ content: "" }, { content: "Here." }, { content: "" }]);
    await using rig = new AgentRig({ llm });
    const session = await rig.open();
    const { turn, end } = await rig.turnOf(session, "go");
    assert.deepEqual([end.stopReason, turn.text], ["end_turn", "Here."]);
    assert.match(turn.notices, /gave an empty answer; it is asked once more/);
    await assert.rejects(rig.turnOf(session, "go on"), /gave an empty answer twice.*'continue'/);
    assert.equal(llm.requests.length, 4);
  });

  it("ends if the model repeats the same request", async () => {
    const call = { name: "read_file", arguments: { path: "a.txt" } };
    await using llm = await FakeLlm.start([{ toolCalls: [call] }]);
    await using rig = new AgentRig({ llm, files: { "a.txt": "one\n" } });
    const { turn, end } = await rig.turn("go");
    assert.equal(end.stopReason, "max_turn_requests");
    assert.match(turn.notices, /the same again and again/);
    assert.ok(llm.requests.length < 10);
  });

  it("ends after the maximum number of answers, though all differ", async () => {
    const script = Array.from({ length: 8 }, (_, index) => ({
      toolCalls: [{ name: "read_file", arguments: { path: "a.txt", line: index + 1 } }],
    }));
    await using llm = await FakeLlm.start(script);
    await using rig = new AgentRig({
      llm,
      limits: { maxSteps: 5 },
      files: { "a.txt": "a\nb\nc\nd\ne\nf\ng\nh\n" },
    });
    const { turn, end } = await rig.turn("go");
    assert.equal(end.stopReason, "max_turn_requests");
    assert.equal(turn.ends.length, 5);
    assert.match(turn.notices, /Stopped after 5 answers/);
  });

  it("tells the model that it called an unknown tool, or used wrong arguments", async () => {
    await using llm = await FakeLlm.start([
      { toolCalls: [{ name: "raed_file", arguments: { path: "a.txt" } }] },
      { toolCalls: [{ name: "read_file", arguments: { file: "a.txt" } }] },
      { toolCalls: [{ name: "read_file", arguments: '{"path": "a.t' }] },
      { content: "I see." },
    ]);
    await using rig = new AgentRig({ llm, files: { "a.txt": "one\n" } });
    const { turn, end } = await rig.turn("go");
    assert.equal(end.stopReason, "end_turn");
    assert.deepEqual(turn.ends, ["failed", "failed", "failed"]);
    assert.match(llm.seen(1), /Did you mean read_file/);
    assert.match(llm.seen(2), /Invalid arguments for 'read_file'/);
    assert.match(llm.seen(3), /not valid JSON|Invalid arguments/);
  });

  it("ends a command that exceeds its time, with everything it started", async () => {
    await using llm = await FakeLlm.start([
      {
        toolCalls: [{ name: "run_command", arguments: { command: SLEEPERS, timeout_ms: 300 } }],
      },
      { content: "Too slow." },
    ]);
    await using rig = new AgentRig({ llm });
    const { turn, end } = await rig.turn("go");
    assert.equal(end.stopReason, "end_turn");
    assert.deepEqual(turn.ends, ["failed"]);
    assert.match(llm.seen(1), /killed after 0 s/);
    await groupEnd(Number(rig.read("pid")));
  });

  it("includes prompts that the person sends meanwhile", async () => {
    await using llm = await FakeLlm.start([{ content: "One." }, { content: "Two." }]);
    await using rig = new AgentRig({ llm });
    const session = await rig.open();
    let isSaid = false;
    const { turn } = await rig.turnOf(session, {
      prompt: "go",
      onUpdate: (update, running) => {
        if (isSaid || update.sessionUpdate !== "agent_message_chunk") return;
        isSaid = true;
        running.steer("rather in red");
      },
    });
    assert.equal(turn.text, "One.Two.");
    assert.match(llm.seen(1), /user: .*rather in red/);
  });

  it("sends thoughts separately from text", async () => {
    await using llm = await FakeLlm.start([{ content: "Yes.", reasoning: "Let me think." }]);
    await using rig = new AgentRig({ llm, anthropic: true });
    const { turn } = await rig.turn("go");
    assert.equal(turn.text, "Yes.");
    const thoughts = turn.ofKind("agent_thought_chunk");
    assert.equal(
      thoughts.map(({ content }) => (content as { text: string }).text).join(""),
      "Let me think.",
    );
  });

  it("shows the model's plan", async () => {
    const entries = [
      { content: "Look" },
      { content: "Write", status: "in_progress", priority: "high" },
    ];
    await using llm = await FakeLlm.start([
      { toolCalls: [{ name: "update_plan", arguments: { entries } }] },
      { content: "Planned." },
    ]);
    await using rig = new AgentRig({ llm });
    const { turn } = await rig.turn("go");
    assert.deepEqual(turn.ofKind("plan")[0]?.entries, [
      { content: "Look", status: "pending", priority: "medium" },
      { content: "Write", status: "in_progress", priority: "high" },
    ]);
  });
});
