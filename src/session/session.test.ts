import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { AcpApp } from "../../test/support/acp-app.ts";
import { chunk } from "../../test/support/scripted-agent.ts";

describe("a session", { timeout: 60_000 }, () => {
  it("continues its turn when the connection drops, and shows all of it to a client that returns", async () => {
    const go = Promise.withResolvers<void>();
    await using app = await AcpApp.open({
      script: async (turn) => {
        await turn.update(chunk("before "));
        await go.promise;
        await turn.update(chunk("after"));
      },
    });
    const { client, sessionId } = await app.client();
    client.post("session/prompt", { sessionId, prompt: [{ type: "text", text: "Hello" }] });
    await client.find(() => client.text === "before ");
    await client.leave();
    const again = app.connect();
    await again.initialize();
    const loaded = await again.ask("session/load", { sessionId, cwd: "/tmp", mcpServers: [] });
    assert.equal(loaded._meta.trunkline.turn, "running");
    assert.equal(again.text, "before ");
    go.resolve();
    const over = await again.find(({ params }) => params?.update?._meta !== undefined);
    assert.equal(over.params.update._meta.trunkline.turn.state, "end_turn");
    assert.equal(again.text, "before after");
    assert.equal(again.updates[0]?.sessionUpdate, "user_message_chunk");
  });

  it("shows updates to all attached clients, and the prompt to those that did not send it", async () => {
    await using app = await AcpApp.open({ script: (turn) => turn.update(chunk("Hi")) });
    const { client, sessionId } = await app.client();
    const other = app.connect();
    await other.initialize();
    await other.ask("session/load", { sessionId, cwd: "/tmp", mcpServers: [] });
    await client.prompt(sessionId, "Hello");
    const turns = () => other.updates.map(({ _meta }) => _meta?.trunkline.turn?.state);
    await other.find(() => turns().includes("end_turn"));
    const kinds = (updates: typeof client.updates) => updates.map((one) => one.sessionUpdate);
    assert.deepEqual(kinds(client.updates), [
      "available_commands_update",
      "session_info_update",
      "agent_message_chunk",
    ]);
    assert.equal(client.updates[1]?.title, "Hello", "the client that prompts gets the title too");
    assert.deepEqual(kinds(other.updates), [
      "available_commands_update",
      "user_message_chunk",
      "session_info_update",
      "session_info_update",
      "agent_message_chunk",
      "session_info_update",
    ]);
    assert.deepEqual(turns().slice(3), ["running", undefined, "end_turn"]);
  });

  it("tells a client that resumes which settings were changed while it was away", async () => {
    await using app = await AcpApp.open({ script: (turn) => turn.update(chunk("Hi")) });
    const { client, sessionId } = await app.client();
    await client.prompt(sessionId, "Hello");
    await client.ask("session/set_mode", { sessionId, modeId: "architect" });
    const resumed = async (after: number) => {
      const other = app.connect();
      await other.initialize();
      const _meta = { trunkline: { after } };
      await other.ask("session/resume", { sessionId, cwd: "/tmp", mcpServers: [], _meta });
      return other.updates.flatMap(({ currentModeId }) => currentModeId ?? []);
    };
    assert.deepEqual(await resumed(1), ["architect"]);
    assert.deepEqual(await resumed(1_000), []);
  });
});
