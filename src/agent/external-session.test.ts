import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { DrivenAgent } from "../../test/agent/driven-agent.ts";

describe("a session of another agent", { timeout: 30_000 }, () => {
  it("is heard ahead of its answer to session/new, and shown after ours", async () => {
    await using driven = await DrivenAgent.open({}, { flags: ["--greets"] });
    const { client, sessionId } = driven;
    await client.find(() => client.text === "Welcome. ");
    const answered = client.messages.findIndex(({ result }) => result?.sessionId === sessionId);
    const shown = client.messages.findIndex(({ method }) => method === "session/update");
    assert.ok(answered < shown, `answered as ${answered}, shown as ${shown}`);
  });

  it("has a mode that it changes itself told in both forms", async () => {
    await using driven = await DrivenAgent.open();
    await driven.say("mode ask");
    const { updates } = driven.client;
    assert.ok(updates.some(({ currentModeId }) => currentModeId === "ask"));
    const told = updates.find(({ sessionUpdate }) => sessionUpdate === "config_option_update");
    assert.equal(told?.configOptions[0].currentValue, "ask");
  });

  it("is not given a prompt that was called off before it was there", async () => {
    await using driven = await DrivenAgent.open();
    const { client, sessionId } = driven;
    await assert.rejects(client.prompt(sessionId, "crash"));
    const late = client.prompt(sessionId, "remember this");
    client.send({ jsonrpc: "2.0", method: "session/cancel", params: { sessionId } });
    assert.deepEqual(await late, { stopReason: "cancelled" });
    assert.equal(await driven.say("recall"), "undefined");
  });

  it("asks in a turn that begins before one that was given up ends", async () => {
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

  it("is begun once by all who find that it has died", async () => {
    await using driven = await DrivenAgent.open();
    const { client, sessionId } = driven;
    await assert.rejects(client.prompt(sessionId, "crash"));
    const prompt = client.prompt(sessionId, "say one");
    await Promise.all([prompt, client.ask("session/set_mode", { sessionId, modeId: "ask" })]);
    assert.match(await driven.say("id"), /^theirs-1-/);
    assert.equal(await driven.say("mode"), "ask");
  });
});
