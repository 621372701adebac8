import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { AcpApp } from "../../../test/support/acp-app.ts";
import { chunk, promptText } from "../../../test/support/scripted-agent.ts";
import type { PermissionOutcome, PermissionRequest } from "../permission/permission.ts";

const REQUEST: PermissionRequest = {
  toolCall: { toolCallId: "tool-456", title: "Run npm install", status: "pending" },
  options: [{ optionId: "once", kind: "allow_once", name: "Allow once" }],
};

describe("a cancelled turn", { timeout: 30_000 }, () => {
  it("stops the agent, withdraws questions, and answers the prompt with cancelled", async () => {
    let outcome: PermissionOutcome | undefined;
    await using app = await AcpApp.open({
      script: async (turn) => {
        outcome = await turn.requestPermission(REQUEST);
        turn.signal.throwIfAborted();
      },
    });
    const { client, sessionId } = await app.client();
    const prompt = client.prompt(sessionId, "Install");
    const asked = await client.request("session/request_permission");
    client.send({ jsonrpc: "2.0", method: "session/cancel", params: { sessionId } });
    assert.deepEqual(await prompt, { stopReason: "cancelled" });
    assert.deepEqual(outcome, { outcome: "cancelled" });
    const told = await client.request("$/cancel_request");
    assert.equal(told.params.requestId, asked.id);
  });

  it("ends without an agent that ignores the cancel", async () => {
    await using app = await AcpApp.open({
      script: () => new Promise(() => {}),
      sessionLimits: { cancelGrace: 10 },
    });
    const { client, sessionId } = await app.client();
    const prompt = client.prompt(sessionId, "hang");
    client.send({ jsonrpc: "2.0", method: "session/cancel", params: { sessionId } });
    assert.deepEqual(await prompt, { stopReason: "cancelled" });
    app.agent.script = async () => {};
    assert.deepEqual(await client.prompt(sessionId, "next"), { stopReason: "end_turn" });
  });
});

describe("a prompt during another", { timeout: 30_000 }, () => {
  it("is refused, while other sessions continue", async () => {
    const go = Promise.withResolvers<void>();
    await using app = await AcpApp.open({
      script: async (turn) => {
        if (promptText(turn) === "wait") await go.promise;
      },
    });
    const { client, sessionId } = await app.client();
    const { sessionId: other } = await client.ask("session/new", { cwd: "/tmp", mcpServers: [] });
    const first = client.prompt(sessionId, "wait");
    await assert.rejects(client.prompt(sessionId, "next"), {
      code: -31902,
      message: "Session locked",
    });
    assert.deepEqual(await client.prompt(String(other), "next"), { stopReason: "end_turn" });
    go.resolve();
    assert.deepEqual(await first, { stopReason: "end_turn" });
  });

  it("is cancelled together with the turn that it waits for", async () => {
    const seen: string[] = [];
    await using app = await AcpApp.open({
      sessionLimits: { cancelGrace: 1 },
      script: async (turn) => {
        seen.push(promptText(turn));
        await turn.update(chunk("working"));
        if (promptText(turn) === "hang") await new Promise(() => {});
      },
    });
    const { client, sessionId } = await app.client();
    const hang = client.prompt(sessionId, "hang");
    await client.find(() => client.text === "working");
    const wish = { _meta: { trunkline: { whileRunning: "queue" } } };
    const queued = client.prompt(sessionId, "queued", wish);
    await client.ask("session/list", {});
    client.send({ jsonrpc: "2.0", method: "session/cancel", params: { sessionId } });
    const cancelled = { stopReason: "cancelled" };
    assert.deepEqual(await Promise.all([hang, queued]), [cancelled, cancelled]);
    assert.deepEqual(await client.prompt(sessionId, "next"), { stopReason: "end_turn" });
    assert.deepEqual(seen, ["hang", "next"]);
  });

  it("is queued or steers if the client asks for it", async () => {
    const seen: unknown[] = [];
    const go = Promise.withResolvers<void>();
    await using app = await AcpApp.open({
      script: async (turn) => {
        const text = promptText(turn);
        if (text === "first") await go.promise;
        seen.push(text, ...(turn.steering?.() ?? []).map(({ text: said }) => said));
      },
    });
    const { client, sessionId } = await app.client();
    const first = client.prompt(sessionId, "first");
    const wish = (whileRunning: string) => ({ _meta: { trunkline: { whileRunning } } });
    const queued = client.prompt(sessionId, "queued", wish("queue"));
    const steered = client.prompt(sessionId, "steered", wish("steer"));
    // It is stored before it counts.
    for await (const _ of app.log.read(sessionId));
    go.resolve();
    await Promise.all([first, queued, steered]);
    assert.deepEqual(seen, ["first", "steered", "queued"]);
  });

  it("is not given to the agent after the client has withdrawn it", async () => {
    const seen: unknown[] = [];
    const go = Promise.withResolvers<void>();
    await using app = await AcpApp.open({
      script: async (turn) => {
        await go.promise;
        seen.push(promptText(turn), ...(turn.steering?.() ?? []).map(({ text }) => text));
      },
    });
    const { client, sessionId } = await app.client();
    const first = client.prompt(sessionId, "first");
    const _meta = { trunkline: { whileRunning: "steer" } };
    const prompt = [{ type: "text", text: "withdrawn" }];
    const id = client.post("session/prompt", { sessionId, prompt, _meta });
    client.send({ jsonrpc: "2.0", method: "$/cancel_request", params: { requestId: id } });
    assert.equal((await client.answerTo(id)).error.code, -32800);
    go.resolve();
    await first;
    assert.deepEqual(seen, ["first"]);
  });

  it("is shown to the client that sent it when the agent takes it, if it asks for that", async () => {
    await using app = await AcpApp.open({ script: (turn) => turn.update(chunk("done")) });
    const { client, sessionId } = await app.client();
    await client.prompt(sessionId, "not shown");
    await client.prompt(sessionId, "shown", { _meta: { trunkline: { echo: true } } });
    const said = client.updates.flatMap(({ content }) => content?.text ?? []);
    assert.deepEqual(said, ["done", "shown", "done"]);
  });

  it("becomes the next turn if no agent takes it into the running one", async () => {
    const go = Promise.withResolvers<void>();
    await using app = await AcpApp.open({
      script: async (turn) => {
        if (promptText(turn) === "first") await go.promise;
        await turn.update(chunk(`${promptText(turn)}, done. `));
      },
    });
    const { client, sessionId } = await app.client();
    const first = client.prompt(sessionId, "first");
    const wish = { _meta: { trunkline: { whileRunning: "steer" } } };
    const steered = client.prompt(sessionId, "steered", wish);
    await client.ask("session/list", {});
    go.resolve();
    const ended = { stopReason: "end_turn" };
    assert.deepEqual(await Promise.all([first, steered]), [ended, ended]);
    const watcher = app.connect();
    await watcher.initialize();
    await watcher.ask("session/load", { sessionId, cwd: "/tmp", mcpServers: [] });
    const said = watcher.updates.flatMap(({ content }) => content?.text ?? []);
    assert.deepEqual(said, ["first", "first, done. ", "steered", "steered, done. "]);
  });
});
