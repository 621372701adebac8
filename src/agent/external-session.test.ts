import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { DrivenAgent } from "../../test/agent/driven-agent.ts";

describe("a session of an external agent", { timeout: 30_000 }, () => {
  it("may send updates before its answer to session/new, and they are shown after ours", async () => {
    await using driven = await DrivenAgent.open({}, { flags: ["--greets"] });
    const { client, sessionId } = driven;
    await client.find(() => client.text === "Welcome. ");
    const answered = client.messages.findIndex(({ result }) => result?.sessionId === sessionId);
    const shown = client.messages.findIndex(({ method }) => method === "session/update");
    assert.ok(answered < shown, `answered as ${answered}, shown as ${shown}`);
  });

  it("announces in both forms a mode that the agent changed itself", async () => {
    await using driven = await DrivenAgent.open();
    await driven.say("mode ask");
    const { updates } = driven.client;
    assert.ok(updates.some(({ currentModeId }) => currentModeId === "ask"));
    const told = updates.find(({ sessionUpdate }) => sessionUpdate === "config_option_update");
    assert.equal(told?.configOptions[0].currentValue, "ask");
  });

  it("does not get a prompt that was cancelled before the agent was ready", async () => {
    await using driven = await DrivenAgent.open();
    const { client, sessionId } = driven;
    await assert.rejects(client.prompt(sessionId, "crash"));
    const late = client.prompt(sessionId, "remember this");
    client.send({ jsonrpc: "2.0", method: "session/cancel", params: { sessionId } });
    assert.deepEqual(await late, { stopReason: "cancelled" });
    assert.equal(await driven.say("recall"), "undefined");
  });

  it("can ask in a turn that begins before an abandoned one ends", async () => {
    await using driven = await DrivenAgent.open({}, { sessionLimits: { cancelGrace: 1 } });
    const { client, sessionId } = driven;
    client.answer = () => ({ result: { outcome: { outcome: "selected", optionId: "once" } } });
    const lingering = client.prompt(sessionId, "linger");
    await client.find(() => client.text === "lingering");
    client.send({ jsonrpc: "2.0", method: "session/cancel", params: { sessionId } });
    assert.deepEqual(await lingering, { stopReason: "cancelled" });
    const said = await driven.say("release permission");
    assert.deepEqual(JSON.parse(said), { outcome: "selected", optionId: "once" });
  });

  it("is restarted once by all callers that find it dead", async () => {
    await using driven = await DrivenAgent.open();
    const { client, sessionId } = driven;
    await assert.rejects(client.prompt(sessionId, "crash"));
    const prompt = client.prompt(sessionId, "say one");
    await Promise.all([prompt, client.ask("session/set_mode", { sessionId, modeId: "ask" })]);
    assert.match(await driven.say("id"), /^theirs-1-/);
    assert.equal(await driven.say("mode"), "ask");
  });
});
