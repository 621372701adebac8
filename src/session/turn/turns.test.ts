import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { AcpHouse } from "../../../test/support/acp-house.ts";
import { promptText } from "../../../test/support/scripted-agent.ts";
import type { PermissionOutcome, PermissionRequest } from "../permission/permission.ts";

const REQUEST: PermissionRequest = {
  toolCall: { toolCallId: "tool-456", title: "Run npm install", status: "pending" },
  options: [{ optionId: "once", kind: "allow_once", name: "Allow once" }],
};

describe("a turn that is called off", { timeout: 30_000 }, () => {
  it("cancels: the agent is stopped, questions are withdrawn, the prompt says so", async () => {
    let outcome: PermissionOutcome | undefined;
    await using house = await AcpHouse.open({
      script: async (turn) => {
        outcome = await turn.requestPermission(REQUEST);
        turn.stop.signal.throwIfAborted();
      },
    });
    const { client, sessionId } = await house.client();
    const prompt = client.prompt(sessionId, "Install");
    const asked = await client.request("session/request_permission");
    client.send({ jsonrpc: "2.0", method: "session/cancel", params: { sessionId } });
    assert.deepEqual(await prompt, { stopReason: "cancelled" });
    assert.deepEqual(outcome, { outcome: "cancelled" });
    const told = await client.request("$/cancel_request");
    assert.equal(told.params.requestId, asked.id);
  });

  it("gives up an agent that does not heed a cancel", async () => {
    await using house = await AcpHouse.open({
      script: () => new Promise(() => {}),
      sessionLimits: { cancelGrace: 10 },
    });
    const { client, sessionId } = await house.client();
    const prompt = client.prompt(sessionId, "hang");
    client.send({ jsonrpc: "2.0", method: "session/cancel", params: { sessionId } });
    assert.deepEqual(await prompt, { stopReason: "cancelled" });
    house.agent.script = async () => {};
    assert.deepEqual(await client.prompt(sessionId, "next"), { stopReason: "end_turn" });
  });

  it("calls a turn off whose request is cancelled with $/cancel_request", async () => {
    const stopped = Promise.withResolvers<void>();
    await using house = await AcpHouse.open({
      script: async (turn) => {
        turn.stop.add({ stopped: () => stopped.resolve() });
        await stopped.promise;
      },
    });
    const { client, sessionId } = await house.client();
    const prompt = [{ type: "text", text: "x" }];
    const id = client.post("session/prompt", { sessionId, prompt });
    await house.log.flush();
    while (house.agent.sessions.length === 0 || !house.sessions.get(sessionId)?.isRunning) {
      await new Promise(setImmediate);
    }
    client.send({ jsonrpc: "2.0", method: "$/cancel_request", params: { requestId: id } });
    assert.equal((await client.answerTo(id)).error.code, -32800);
    await stopped.promise;
  });

  it("answers a cancelled prompt when its turn is over, so that the next one is taken", async () => {
    let running = 0;
    await using house = await AcpHouse.open({
      limits: { "session/prompt": { rate: { limit: 1_000, windowMs: 1_000 } } },
      script: async (turn) => {
        assert.equal(++running, 1);
        if (promptText(turn) === "long") {
          await new Promise<void>((resolve) => turn.stop.add({ stopped: () => resolve() }));
          // It has things to put in order.
          await new Promise((resolve) => setTimeout(resolve, 20));
        }
        running--;
      },
    });
    const { client, sessionId } = await house.client();
    const prompt = [{ type: "text", text: "long" }];
    for (let time = 0; time < 20; time++) {
      const id = client.post("session/prompt", { sessionId, prompt });
      // At every point of the turn's beginning.
      for (let turns = 0; turns < time; turns++) await new Promise(setImmediate);
      client.send({ jsonrpc: "2.0", method: "$/cancel_request", params: { requestId: id } });
      assert.equal((await client.answerTo(id)).error.code, -32800);
      assert.equal(running, 0);
      assert.deepEqual(await client.prompt(sessionId, "next"), { stopReason: "end_turn" });
    }
  });

  it("answers a cancelled prompt at once that only waits for another", async () => {
    const release = Promise.withResolvers<void>();
    await using house = await AcpHouse.open({ script: () => release.promise });
    const { client, sessionId } = await house.client();
    const first = client.prompt(sessionId, "first");
    for (const whileRunning of ["queue", "steer"]) {
      const _meta = { trunkline: { whileRunning } };
      const prompt = [{ type: "text", text: "x" }];
      const id = client.post("session/prompt", { sessionId, prompt, _meta });
      client.send({ jsonrpc: "2.0", method: "$/cancel_request", params: { requestId: id } });
      assert.equal((await client.answerTo(id)).error.code, -32800);
    }
    release.resolve();
    assert.deepEqual(await first, { stopReason: "end_turn" });
  });
});
