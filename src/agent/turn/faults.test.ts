import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { MockLanguageModelV4 } from "ai/test";

import { OFFLINE } from "../models/models.ts";
import { RpcError } from "../../rpc/rpc-error.ts";
import { AgentRig, QUICK } from "../../../test/agent/agent-rig.ts";
import { groupEnd } from "../../../test/agent/group-end.ts";
import { FakeLlm, type Scripted } from "../../../test/agent/fake-llm.ts";

const SLEEPERS = "echo $$ > pid; sleep 71 & sleep 72";

const ANSWER: Scripted = { content: "Here it is, at last." };
const PASSING: Readonly<Record<string, Scripted>> = {
  "a rate limit": { error: { message: "Slow down" }, status: 429 },
  "a fault of the server": { error: { message: "Oops" }, status: 500 },
  "an overload": { error: { message: "Overloaded", type: "overloaded_error" }, status: 529 },
  "a stream that breaks off": {
    content: "This is a long text that ends early.",
    truncateAfterChunks: 3,
  },
  "a connection that is dropped": { content: "Never said.", chaos: { disconnectRate: 1 } },
  "a malformed answer": { content: "Never said.", chaos: { malformedRate: 1 } },
};

for (const anthropic of [false, true]) {
  describe(`a turn with ${anthropic ? "Anthropic" : "an OpenAI-compatible server"}`, () => {
    for (const [name, fault] of Object.entries(PASSING)) {
      it(`goes on after ${name}, and says so`, async () => {
        await using llm = await FakeLlm.start([fault, ANSWER]);
        await using rig = new AgentRig({ llm, anthropic });
        const { turn, end } = await rig.turn("go");
        assert.equal(end.stopReason, "end_turn");
        assert.ok(turn.text.endsWith("Here it is, at last."), turn.text);
        assert.match(turn.notices, /Trying again in .* \(attempt 2 of 4\)/);
      });

      // The fake wants a second's rest after each: see below.
      if (fault.status === 429) continue;
      it(`fails with a reason when ${name} does not pass, and can go on later`, async () => {
        await using llm = await FakeLlm.start([fault, fault, fault, fault, ANSWER]);
        await using rig = new AgentRig({ llm, anthropic });
        const session = await rig.open();
        await assert.rejects(rig.turnOf(session, "go"), /What was said and done so far is kept/);
        const { turn, end } = await rig.turnOf(session, "continue");
        assert.equal(end.stopReason, "end_turn");
        assert.ok(turn.text.endsWith("Here it is, at last."));
        assert.match(llm.seen(4), /user: .*go/);
        assert.match(llm.seen(4), /user: .*continue/);
      });
    }

    it("does not try again with a key that is refused", async () => {
      const refusal = { error: { message: "invalid x-api-key" }, status: 401 };
      await using llm = await FakeLlm.start([refusal, ANSWER]);
      await using rig = new AgentRig({ llm, anthropic });
      await assert.rejects(rig.turn("go"), /status 401.*Check the key/);
      assert.equal(llm.requests.length, 1);
    });
  });
}

describe("a turn", () => {
  it("says how long a limit lasts that is longer than it waits", async () => {
    await using llm = await FakeLlm.start([{ error: { message: "Usage limit" }, status: 429 }]);
    await using rig = new AgentRig({ llm, limits: { retry: { ...QUICK, longestWait: 50 } } });
    const failure = await rig.turn("go").then(
      () => undefined,
      (error: unknown) => error,
    );
    assert.ok(failure instanceof RpcError);
    assert.equal(failure.code, -32029);
    assert.match(failure.message, /Usage limit. Try again in 1 s/);
    assert.deepEqual(failure.data, { retryAfterMs: 1_000 });
  });

  it("gives up a model that has begun to answer and says no more", async () => {
    const silent = new MockLanguageModelV4({
      doStream: async () => ({ stream: new ReadableStream({ start: () => {} }) }),
    });
    const entry = { ...OFFLINE, id: "mock/silent", contextWindow: 1_000, open: async () => silent };
    const models = {
      list: () => [entry],
      first: () => entry,
      refresh: async () => {},
      onChange: () => () => {},
      secrets: [],
      failures: new Map<string, string>(),
    };
    const retry = { ...QUICK, attempts: 2, silence: 30 };
    await using rig = new AgentRig({ models, limits: { retry } });
    await assert.rejects(rig.turn("go"), /mock\/silent said nothing for .* 2 times/);
    assert.equal(silent.doStreamCalls.length, 2);
  });

  it("shows each call under an id of its own, though the model counts anew", async () => {
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

  it("ends when the model asks for the same again and again", async () => {
    const call = { name: "read_file", arguments: { path: "a.txt" } };
    await using llm = await FakeLlm.start([{ toolCalls: [call] }]);
    await using rig = new AgentRig({ llm, files: { "a.txt": "one\n" } });
    const { turn, end } = await rig.turn("go");
    assert.equal(end.stopReason, "max_turn_requests");
    assert.match(turn.notices, /the same again and again/);
    assert.ok(llm.requests.length < 10);
  });

  it("ends after so many answers, though each is another", async () => {
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

  it("tells the model when it calls a tool that is not there, or with wrong arguments", async () => {
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

  it("ends a command that takes longer than it may, with all that it started", async () => {
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

  it("takes in what the person says meanwhile", async () => {
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

  it("passes on thoughts apart from what is said", async () => {
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

  it("shows the plan that the model makes", async () => {
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
