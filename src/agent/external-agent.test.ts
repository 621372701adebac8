import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { DrivenAgent } from "../../test/agent/driven-agent.ts";
import { AcpApp, type Message } from "../../test/support/acp-app.ts";
import { covers } from "../../test/support/requirement.ts";
import { limitsFor } from "../base/limit/limits.ts";
import { Log } from "../base/log.ts";
import { ExternalAgent } from "./external-agent.ts";

describe("a session of an external agent", { timeout: 120_000 }, () => {
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

  it("has the models of its option, where the agent names them differently in the older form", async () => {
    await using driven = await DrivenAgent.open({}, { flags: ["--two-names"] });
    const created = driven.client.messages.find(({ result }) => result?.sessionId !== undefined);
    assert.deepEqual(created?.result.models, {
      currentModelId: "m",
      availableModels: [{ modelId: "m", name: "M" }],
    });
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

  it("shows and stores what the agent wrote, however it is spelt, in its order", async () => {
    await using driven = await DrivenAgent.open();
    const { client, sessionId } = driven;
    const around = (update: string, more = ""): string =>
      `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"SESSION","update":${update}}${more}}`;
    const text = (raw: string, more = ""): string =>
      `{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":${raw}}${more}}`;
    const lines = [
      around(text('"plain"')),
      around(text(String.raw`"\\\" \/ \u0041 \ud83d \n 🙂"`)),
      around(text('"with an id"', ',"messageId":"m"')),
      around(text('"first","text":"second"')),
      around(text('"big","n":9007199254740993')),
      around(text('"proto","__proto__":{"polluted":true}')),
      around(text('"other","sessionId":"other"')),
      around(text(`"deep","x":${"[".repeat(90)}${"]".repeat(90)}`)),
      around(text('"not for this session"')).replace("SESSION", "theirs-99"),
      around(text('"lies"')).replace('"SESSION"', '"theirs-99","sessionId":"SESSION"'),
      around(text('"too deep"', `,"x":${"[".repeat(20_000)}${"]".repeat(20_000)}`)),
      around(text('"half')),
      around(text(String.raw`"\x"`)),
      around(text('"a request"'), ',"id":null'),
      around(text('"last"')),
    ];
    await client.prompt(sessionId, `raw ${lines.join("\n")}`);
    const isOurs = ({ sessionUpdate }: Message): boolean => sessionUpdate === "agent_message_chunk";
    const shown = client.updates.filter(isOurs);
    const expected = lines.flatMap((line, at) => {
      const isRefused = at === 8 || (at >= 10 && at <= 12);
      return isRefused ? [] : [JSON.parse(line).params.update as Message];
    });
    assert.deepEqual(JSON.parse(JSON.stringify(shown)), JSON.parse(JSON.stringify(expected)));
    assert.equal("polluted" in {}, false);
    const other = driven.app.connect();
    await other.initialize();
    await other.ask("session/load", { sessionId, cwd: driven.folder, mcpServers: [] });
    assert.deepEqual(other.updates.filter(isOurs), shown);
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

describe("an external agent", { timeout: 60_000 }, () => {
  it("is stopped if it does not answer initialize in time, and is not asked twice", async () => {
    covers("acp.timeout.initialize");
    assert.deepEqual(limitsFor("initialize").timeout, 30_000);
    const heard: string[] = [];
    await using agent = new ExternalAgent({
      name: "mute",
      // It has to hear it in time, on a busy machine, too.
      command: "/bin/sh",
      args: ["-c", "exec 3>&1; exec cat >&2"],
      limits: { initialize: { timeout: 1_000 } },
      log: new Log("info", (line) => heard.push(line)),
    });
    await using app = await AcpApp.open({ agent });
    const client = app.connect();
    await client.initialize();
    await assert.rejects(client.ask("session/new", { cwd: "/tmp" }), { code: -32001 });
    const hellos = heard.join("").match(/protocolVersion/g) ?? [];
    assert.equal(hellos.length, 1);
  });

  it("leaves no open permission request if it dies while it asks", async () => {
    await using driven = await DrivenAgent.open();
    const end = driven.client.prompt(driven.sessionId, "permission");
    const { id } = await driven.client.request("session/request_permission");
    const failed = assert.rejects(end, { message: /Agent 'other' ended/ });
    await driven.agent[Symbol.asyncDispose]();
    await failed;
    const { params } = await driven.client.request("$/cancel_request");
    assert.equal(params.requestId, id);
  });
});
