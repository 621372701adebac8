import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { AcpApp } from "../../../test/support/acp-app.ts";
import { chunk } from "../../../test/support/scripted-agent.ts";
import { covers } from "../../../test/support/requirement.ts";
import type { SessionUpdate } from "../../session/agent.ts";

/** ACP message specification, "Update Types": each as it stands there. */
const UPDATES: readonly SessionUpdate[] = [
  {
    sessionUpdate: "agent_message_chunk",
    content: { type: "text", text: "Chunk of response text" },
  },
  {
    sessionUpdate: "tool_call",
    toolCallId: "tool-456",
    title: "Execute command",
    kind: "execute",
    status: "pending",
    locations: [],
  },
  {
    sessionUpdate: "tool_call_update",
    toolCallId: "tool-456",
    status: "completed",
    content: [
      { type: "content", content: { type: "text", text: "Command completed successfully" } },
    ],
  },
  {
    sessionUpdate: "plan",
    entries: [{ content: "Create React component", priority: "high", status: "pending" }],
  },
  {
    sessionUpdate: "available_commands_update",
    availableCommands: [{ name: "init", description: "Initialize project" }],
  },
];

describe("the ACP door", { timeout: 30_000 }, () => {
  it("replays the message specification's conversation", async () => {
    covers(
      "acp.flow.conversation",
      "acp.message.jsonrpc",
      "acp.new.without-servers",
      "acp.id.uuid",
    );
    covers(
      "acp.prompt.answer",
      "acp.stream.completion",
      "acp.initialize.answer",
      "acp.order.unique-ids",
    );
    await using app = await AcpApp.open({
      script: async (turn) => turn.update(chunk("Hi there!")),
    });
    const client = app.connect();
    const hello = await client.initialize();
    assert.deepEqual(hello.agentCapabilities.promptCapabilities, {
      embeddedContext: true,
      image: true,
    });
    assert.deepEqual(hello.agentCapabilities.mcpCapabilities, { http: true, sse: true });
    assert.deepEqual([hello.protocolVersion, hello.authMethods], [1, []]);
    assert.equal(hello.agentCapabilities.loadSession, true);
    const { sessionId } = await client.ask("session/new", { cwd: "/tmp" });
    assert.match(String(sessionId), /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
    await client.find(({ method }) => method === "session/update");
    const before = client.messages.length;
    await client.prompt(String(sessionId), "Hello");
    const title = { sessionUpdate: "session_info_update", title: "Hello" };
    assert.deepEqual(client.messages.slice(before), [
      { jsonrpc: "2.0", method: "session/update", params: { sessionId, update: title } },
      {
        jsonrpc: "2.0",
        method: "session/update",
        params: { sessionId, update: chunk("Hi there!") },
      },
      { jsonrpc: "2.0", id: 3, result: { stopReason: "end_turn" } },
    ]);
  });

  it("passes every update of the specification on unchanged, in order", async () => {
    covers(
      "acp.update.agent-message",
      "acp.update.tool-call",
      "acp.update.tool-call-update",
      "acp.update.plan",
    );
    covers("acp.update.commands", "acp.stream.chunks", "acp.stream.interleave");
    await using app = await AcpApp.open({
      script: async (turn) => {
        for (const update of UPDATES) void turn.update(update);
      },
    });
    const { client, sessionId } = await app.client();
    await client.prompt(sessionId, "all");
    assert.deepEqual(client.updates.slice(2), UPDATES);
  });

  it("passes unknown updates on", async () => {
    const future = { sessionUpdate: "of_the_future", mine: { a: [1] } };
    const odd = { ...chunk("x"), _unknown: true };
    await using app = await AcpApp.open({
      isOdd: true,
      script: async (turn) => {
        void turn.update(future);
        await turn.update(odd);
      },
    });
    const { client, sessionId } = await app.client();
    await client.prompt(sessionId, "all");
    assert.deepEqual(client.updates.slice(2), [future, odd]);
  });

  it("follows JSON-RPC for invalid messages, and treats a null id as a notification", async () => {
    covers("acp.message.null-id", "acp.error.method-not-found", "acp.validate.response-id");
    covers("acp.cancel.session");
    const script = () => new Promise<never>(() => {});
    await using app = await AcpApp.open({ script, sessionLimits: { cancelGrace: 1 } });
    const { client, sessionId } = await app.client();
    const prompt = client.prompt(sessionId, "hang");
    client.send({ jsonrpc: "2.0", id: 77, result: {} });
    client.send({ jsonrpc: "2.0", id: null, method: "session/cancel", params: { sessionId } });
    await assert.rejects(client.ask("session/nothing", {}), {
      code: -32601,
      message: "Method not found",
    });
    assert.deepEqual(await prompt, { stopReason: "cancelled" });
  });
});
