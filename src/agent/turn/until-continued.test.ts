import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { AgentRig } from "../../../test/agent/agent-rig.ts";
import { FakeLlm } from "../../../test/agent/fake-llm.ts";
import { AcpApp, type TestClient } from "../../../test/support/acp-app.ts";
import { until } from "../../../test/support/until.ts";

const RUNS = { toolCalls: [{ name: "run_command", arguments: { command: "echo hello" } }] };
const ALLOWED = { outcome: { outcome: "selected", optionId: "allow" } };

/** Resolves when the client was shown something. */
async function shown(client: TestClient, what: RegExp): Promise<void> {
  await until(() => what.test(JSON.stringify(client.updates)));
}

/** A turn that was paused while its first tool call waited for permission, and has finished that call. */
async function pausedTurn(app: AcpApp, rig: AgentRig) {
  const client = app.connect();
  await client.initialize();
  const params = { cwd: rig.cwd, mcpServers: [] };
  const { sessionId } = await client.ask("session/new", params);
  const turn = client.prompt(String(sessionId), "go");
  const { id } = await client.request("session/request_permission");
  assert.deepEqual(await client.prompt(String(sessionId), "/pause"), { stopReason: "end_turn" });
  await shown(client, /Paused after the running step/);
  client.send({ jsonrpc: "2.0", id, result: ALLOWED });
  await shown(client, /"status":"completed"/);
  return { client, sessionId: String(sessionId), turn };
}

describe("a paused turn", { timeout: 60_000 }, () => {
  it("ends the running tool call, and goes on when the person says so", async () => {
    await using llm = await FakeLlm.start([RUNS, { content: "Done." }]);
    await using rig = new AgentRig({ llm });
    await using app = await AcpApp.open({ agent: rig.agent });
    const { client, sessionId, turn } = await pausedTurn(app, rig);
    // The next request would be on its way by now.
    await new Promise((resolve) => setTimeout(resolve, 200));
    assert.equal(llm.requests.length, 1);
    await client.prompt(sessionId, "/continue");
    assert.equal((await turn).stopReason, "end_turn");
    assert.equal(llm.requests.length, 2);
    await shown(client, /Done\./);
  });

  it("can be cancelled", async () => {
    await using llm = await FakeLlm.start([RUNS, { content: "Done." }]);
    await using rig = new AgentRig({ llm });
    await using app = await AcpApp.open({ agent: rig.agent });
    const { client, sessionId, turn } = await pausedTurn(app, rig);
    client.send({ jsonrpc: "2.0", method: "session/cancel", params: { sessionId } });
    assert.equal((await turn).stopReason, "cancelled");
    assert.equal(llm.requests.length, 1);
    await client.prompt(sessionId, "/continue");
    await shown(client, /Nothing is paused/);
  });
});
