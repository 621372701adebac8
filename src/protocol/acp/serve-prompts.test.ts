import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { onAbort } from "../../base/abort.ts";
import { AcpApp } from "../../../test/support/acp-app.ts";
import { chunk, promptText } from "../../../test/support/scripted-agent.ts";
import { covers } from "../../../test/support/requirement.ts";
import { until } from "../../../test/support/until.ts";
import { SessionError } from "../../session/session-error.ts";

describe("the ACP routes of prompts", { timeout: 30_000 }, () => {
  it("cancels the turn of a prompt that is cancelled with $/cancel_request", async () => {
    const stopped = Promise.withResolvers<void>();
    await using app = await AcpApp.open({
      script: async (turn) => {
        onAbort(turn.signal, () => stopped.resolve());
        await stopped.promise;
      },
    });
    const { client, sessionId } = await app.client();
    const prompt = [{ type: "text", text: "x" }];
    const id = client.post("session/prompt", { sessionId, prompt });
    await app.log.flush();
    await until(
      () => app.agent.sessions.length > 0 && app.sessions.get(sessionId)?.isRunning === true,
    );
    client.send({ jsonrpc: "2.0", method: "$/cancel_request", params: { requestId: id } });
    assert.equal((await client.answerTo(id)).error.code, -32800);
    await stopped.promise;
  });

  it("does not run a prompt again that it knows, and answers it as its turn ends or ended", async () => {
    const going = Promise.withResolvers<void>();
    const told: number[] = [];
    await using app = await AcpApp.open({
      script: async (turn) => {
        told.push(turn.prompt.length);
        await going.promise;
      },
    });
    const { client, sessionId } = await app.client();
    const text = { type: "text", text: "go" };
    const prompt = { sessionId, prompt: [text, text] };
    const again = { ...prompt, _meta: { trunkline: { sentAfter: 0 } } };
    const first = client.post("session/prompt", prompt);
    const second = client.post("session/prompt", again);
    const other = app.connect();
    await other.initialize();
    await other.ask("session/load", { sessionId, cwd: "/tmp", mcpServers: [] });
    // Another client may say the same, and is refused while the turn runs.
    await assert.rejects(other.ask("session/prompt", again), { code: -31902 });
    going.resolve();
    for (const id of [first, second]) {
      assert.equal((await client.answerTo(id)).result.stopReason, "end_turn");
    }
    assert.equal((await client.ask("session/prompt", again)).stopReason, "end_turn");
    assert.deepEqual(told, [2]);
    const unknown = { ...again, prompt: [text] };
    assert.equal((await client.ask("session/prompt", unknown)).stopReason, "end_turn");
    assert.deepEqual(told, [2, 1]);
  });

  it("takes a screenshot of some megabytes, though text has the document's limit", async () => {
    const sizes: number[] = [];
    await using app = await AcpApp.open({
      script: async ({ prompt }) => void sizes.push(String(prompt[1]?.data).length),
    });
    const { client, sessionId } = await app.client();
    const other = app.connect();
    await other.initialize();
    await other.ask("session/load", { sessionId, cwd: "/tmp", mcpServers: [] });
    const data = Buffer.alloc(3 * 1024 * 1024, 7).toString("base64");
    const image = { type: "image", data, mimeType: "image/png" };
    const prompt = (text: string) => [{ type: "text", text }, image];
    await client.ask("session/prompt", { sessionId, prompt: prompt("What is this?") });
    assert.deepEqual(sizes, [data.length]);
    const shown = await other.find(
      ({ params }) => params?.update?.content?.text === "[image/png, 3.0 MB]",
    );
    assert.equal(shown.params.update.sessionUpdate, "user_message_chunk");
    const long = { sessionId, prompt: prompt("x".repeat(1024 * 1024)) };
    await assert.rejects(client.ask("session/prompt", long), { code: -32600 });
    const broken = { ...image, data: data.slice(1) };
    await assert.rejects(client.ask("session/prompt", { sessionId, prompt: [broken] }), {
      code: -32602,
      message: /'params\.prompt\[0\]\.data' must be base64/,
    });
  });

  it("answers a cancelled prompt when its turn has ended, so that the next one is accepted", async () => {
    let running = 0;
    await using app = await AcpApp.open({
      limits: { "session/prompt": { rate: { limit: 1_000, windowMs: 1_000 } } },
      script: async (turn) => {
        assert.equal(++running, 1);
        if (promptText(turn) === "long") {
          await new Promise<void>((resolve) => onAbort(turn.signal, () => resolve()));
          // It has things to put in order.
          await new Promise((resolve) => setTimeout(resolve, 20));
        }
        running--;
      },
    });
    const { client, sessionId } = await app.client();
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

  it("answers a cancelled prompt at once if it only waits for another", async () => {
    const release = Promise.withResolvers<void>();
    await using app = await AcpApp.open({ script: () => release.promise });
    const { client, sessionId } = await app.client();
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

  it("supports the steering requests of other agents' clients", async () => {
    const go = Promise.withResolvers<void>();
    await using app = await AcpApp.open({
      // The method is in no schema.
      isOdd: true,
      script: async (turn) => {
        if (promptText(turn) === "first") await go.promise;
        const joined = (turn.steering?.() ?? []).map(({ text }) => text);
        await turn.update(chunk(`(${[promptText(turn), ...joined].join("+")})`));
      },
    });
    const client = app.connect();
    const { _meta } = await client.initialize();
    assert.deepEqual(_meta, { steering: { supported: true } });
    const { sessionId } = await client.ask("session/new", { cwd: "/tmp", mcpServers: [] });
    const steer = (text: string, steering: object = {}) => {
      const prompt = [{ type: "text", text }];
      return client.ask("_session/steering", { sessionId, prompt, _meta: { steering } });
    };
    assert.deepEqual(await steer("none", { idleBehavior: "promptRequired" }), {
      outcome: "promptRequired",
      reason: "noRunningTurn",
    });
    const first = client.prompt(String(sessionId), "first");
    assert.deepEqual(await steer("more"), { outcome: "injected" });
    go.resolve();
    await first;
    assert.equal(client.text, "(first+more)");
    assert.deepEqual(await steer("new"), { outcome: "startedNewTurn" });
    await client.find(() => client.text === "(first+more)(new)");
    const prompt = [{ type: "text", text: "x" }];
    await assert.rejects(client.ask("_session/steering", { sessionId: "nobody's", prompt }), {
      code: -31900,
    });
  });

  it("answers an agent's failure with the specification's code, without internal details", async () => {
    covers(
      "acp.error.tool",
      "acp.error.file",
      "acp.error.mcp",
      "acp.error.internal",
      "acp.answer.private",
    );
    covers(
      "acp.answer.always",
      "acp.stream.error",
      "acp.flow.file-not-found",
      "acp.error.connection-lost",
    );
    await using app = await AcpApp.open({
      script: async (turn) => {
        const text = promptText(turn);
        if (text === "fault") throw new Error("secret inside");
        throw new SessionError(text as never, "About it", { path: "/nonexistent" });
      },
      limits: { "session/prompt": { rate: { limit: 1000, windowMs: 1 } } },
    });
    const { client, sessionId } = await app.client();
    for (const [problem, code, message] of [
      ["tool-not-found", -31800, "Tool not found"],
      ["tool-disabled", -31801, "Tool disabled"],
      ["tool-timeout", -31802, "Tool timeout"],
      ["file-not-found", -31700, "File not found"],
      ["permission-denied", -31701, "Permission denied"],
      ["file-too-large", -31702, "File too large"],
      ["mcp-error", -31600, "MCP server error"],
      ["mcp-unavailable", -31601, "MCP server unavailable"],
      ["auth-required", -32000, "Authentication required"],
    ] as const) {
      const data = { path: "/nonexistent", details: "About it" };
      await assert.rejects(client.prompt(sessionId, problem), { code, message, data });
    }
    const id = client.post("session/prompt", {
      sessionId,
      prompt: [{ type: "text", text: "fault" }],
    });
    const answer = await client.answerTo(id);
    assert.equal(answer.error.code, -32603);
    assert.ok(!JSON.stringify(client.messages).includes("secret inside"));
    app.agent.script = async () => {};
    assert.deepEqual(await client.prompt(sessionId, "next"), { stopReason: "end_turn" });
  });
});
