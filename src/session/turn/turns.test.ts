import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { AcpHouse } from "../../../test/support/acp-house.ts";
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
});
