import assert from "node:assert/strict";
import { describe, it, mock } from "node:test";

import { onAbort } from "../../base/abort.ts";
import { covers } from "../../../test/support/requirement.ts";
import { AcpApp } from "../../../test/support/acp-app.ts";
import { promptText, choose, REQUEST } from "../../../test/support/scripted-agent.ts";
import { RunningTurn, type TurnHost } from "./running-turn.ts";

describe("a turn without progress", { timeout: 120_000 }, () => {
  it("is ended, but not while it waits for a person or a tool", async () => {
    covers("acp.timeout.prompt");
    const tool = { sessionUpdate: "tool_call", toolCallId: "t", title: "Long", status: "pending" };
    const done = { sessionUpdate: "tool_call_update", toolCallId: "t", status: "completed" };
    await using app = await AcpApp.open({
      limits: { "session/prompt": { timeout: 500 } },
      sessionLimits: { cancelGrace: 10 },
      script: async (turn) => {
        if (promptText(turn) === "hang") return new Promise(() => {});
        const wait = () => new Promise((resolve) => setTimeout(resolve, 1_100));
        if (promptText(turn) === "ask") await turn.requestPermission(REQUEST);
        await turn.update(tool);
        await wait();
        await turn.update(done);
        return { stopReason: "end_turn" };
      },
    });
    const { client, sessionId } = await app.client();
    await assert.rejects(client.prompt(sessionId, "hang"), { code: -32001 });
    assert.deepEqual(await client.prompt(sessionId, "tool"), { stopReason: "end_turn" });
    const asked = client.prompt(sessionId, "ask");
    const { id } = await client.request("session/request_permission");
    await new Promise((resolve) => setTimeout(resolve, 1_100));
    client.send({ jsonrpc: "2.0", id, ...choose("once") });
    assert.deepEqual(await asked, { stopReason: "end_turn" });
  });
});

describe("RunningTurn", () => {
  const failure = new Error("the disk is full");

  function turnWith(host: Partial<TurnHost>): RunningTurn {
    const unused = () => assert.fail("not asked for");
    return new RunningTurn(
      { say: unused, askPermission: unused, services: unused, ...host },
      {
        prompt: [],
        prompter: undefined,
        meta: undefined,
        timeout: undefined,
        cancelGrace: 60_000,
      },
    );
  }

  const tool = (toolCallId: string, status?: string) => ({
    sessionUpdate: status === undefined ? "tool_call" : "tool_call_update",
    toolCallId,
    status,
  });

  it("knows which tool calls have not ended", async () => {
    const turn = turnWith({ say: async () => {} });
    for (const update of [tool("a"), tool("b"), tool("c"), tool("x", "in_progress")]) {
      await turn.update(update);
    }
    await turn.update(tool("a", "completed"));
    await turn.update(tool("b", "failed"));
    assert.deepEqual(turn.openTools, ["c"]);
  });

  it("stops the agent once, with the first failure, if its updates cannot be stored", async () => {
    const turn = turnWith({ say: () => Promise.reject(failure) });
    const reasons: Error[] = [];
    onAbort(turn.signal, (reason) => reasons.push(reason));
    await turn.run(async (running) => {
      await assert.rejects(running.update(tool("a")), failure);
      await assert.rejects(running.update(tool("b")), failure);
      return { stopReason: "end_turn" };
    });
    assert.equal(turn.failure, failure);
    assert.deepEqual(reasons, [failure]);
    assert.equal(turn.isCancelled, false);
  });

  it("stores nothing of an agent that continues after its turn, and asks nobody for it", async () => {
    let said = 0;
    const turn = turnWith({ say: async () => void said++ });
    await turn.run(async () => ({ stopReason: "end_turn" }));
    await turn.update(tool("late"));
    const asked = await turn.requestPermission({ toolCall: { toolCallId: "t" }, options: [] });
    assert.deepEqual([said, asked], [0, { outcome: "cancelled" }]);
  });

  it("ends without an agent that continues after the grace of a cancel", async () => {
    mock.timers.enable({ apis: ["setTimeout"] });
    try {
      const turn = turnWith({});
      const run = turn.run(() => new Promise(() => {}));
      turn.cancel(failure);
      mock.timers.tick(60_000);
      await assert.rejects(run, failure);
      assert.equal(turn.isCancelled, true);
    } finally {
      mock.timers.reset();
    }
  });

  it("does not count the time in which an agent that pauses itself waits, once its tool calls have ended", async () => {
    let clock = "running";
    const meter = {
      begin: () => {},
      saw: () => {},
      pause: () => (clock = "paused"),
      resume: () => (clock = "running"),
    };
    const turn = turnWith({ say: async () => {} });
    turn.measure(meter as never);
    await turn.update(tool("a"));
    turn.agentPaused(true);
    assert.equal(clock, "running", "the tool call goes on");
    await turn.update(tool("a", "completed"));
    assert.equal(clock, "paused");
    turn.agentPaused(true);
    turn.agentPaused(false);
    assert.equal(clock, "running");
    turn.agentPaused(true);
    turn.cancel(failure);
    assert.equal(clock, "running", "a turn that is stopped waits no longer");
    // Ends its timers.
    await turn.run(async () => ({ stopReason: "cancelled" }));
  });

  it("hands steering prompts over once, and tells their senders", () => {
    const turn = turnWith({});
    let taken = 0;
    const prompt = [{ type: "text", text: "in red" }];
    turn.steer({ prompt, isWanted: () => true, taken: () => taken++ });
    assert.deepEqual([turn.steering(), turn.steering(), taken], [prompt, undefined, 1]);
  });
});
