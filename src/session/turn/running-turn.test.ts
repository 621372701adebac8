import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { covers } from "../../../test/requirements/acp.ts";
import { AcpHouse } from "../../../test/support/acp-house.ts";
import { promptText } from "../../../test/support/scripted-agent.ts";
import type { PermissionRequest } from "../permission/permission.ts";

const REQUEST: PermissionRequest = {
  toolCall: {
    toolCallId: "tool-456",
    title: "Run npm install",
    status: "pending",
    kind: "execute",
    locations: [],
  },
  options: [
    { optionId: "once", kind: "allow_once", name: "Allow once" },
    { optionId: "always", kind: "allow_always", name: "Always allow" },
    { optionId: "reject", kind: "reject_once", name: "Reject" },
  ],
  subject: "run npm install",
};

const choose = (optionId: string) => ({ result: { outcome: { outcome: "selected", optionId } } });

describe("a turn that shows no progress", { timeout: 30_000 }, () => {
  it("ends a turn that shows no progress, but not one that waits for a person or a tool", async () => {
    covers("timeout.prompt");
    const tool = { sessionUpdate: "tool_call", toolCallId: "t", title: "Long", status: "pending" };
    const done = { sessionUpdate: "tool_call_update", toolCallId: "t", status: "completed" };
    await using house = await AcpHouse.open({
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
    const { client, sessionId } = await house.client();
    await assert.rejects(client.prompt(sessionId, "hang"), { code: -32001 });
    assert.deepEqual(await client.prompt(sessionId, "tool"), { stopReason: "end_turn" });
    const asked = client.prompt(sessionId, "ask");
    const { id } = await client.request("session/request_permission");
    await new Promise((resolve) => setTimeout(resolve, 1_100));
    client.send({ jsonrpc: "2.0", id, ...choose("once") });
    assert.deepEqual(await asked, { stopReason: "end_turn" });
  });
});
