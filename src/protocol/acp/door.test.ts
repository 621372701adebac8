import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { AcpApp } from "../../../test/support/acp-app.ts";
import { covers } from "../../../test/support/requirement.ts";

describe("the ACP door, with invalid input", { timeout: 600_000 }, () => {
  it("refuses parameters that are missing, of another type, out of range, or not an absolute path", async () => {
    covers(
      "acp.validate.required",
      "acp.validate.types",
      "acp.validate.ranges",
      "acp.path.absolute",
    );
    covers(
      "acp.content.null-bytes",
      "acp.error.invalid-params",
      "acp.id.length",
      "acp.validate.formats",
    );
    covers("acp.path.separators", "acp.parse.validated");
    await using app = await AcpApp.open();
    const { client, sessionId } = await app.client();
    const text = { type: "text", text: "a" };
    for (const [method, params, words] of [
      ["session/new", {}, /'params.cwd' is missing/],
      ["session/new", { cwd: "relative" }, /'params.cwd' must be an absolute path/],
      ["session/new", { cwd: "" }, /'params.cwd' must be an absolute path/],
      ["session/new", { cwd: "\\\\host\\folder" }, /'params.cwd' must be an absolute path/],
      ["session/new", { cwd: "/with\0null" }, /'params.cwd' must be an absolute path/],
      ["session/new", { cwd: "/", mcpServers: {} }, /'params.mcpServers' must be a list/],
      ["session/new", { cwd: "/", mcpServers: [{ name: "x" }] }, /mcpServers\[0\].command/],
      ["session/new", { cwd: "/", additionalDirectories: ["x"] }, /must be an absolute path/],
      ["session/prompt", { sessionId }, /'params.prompt' is missing/],
      ["session/prompt", { sessionId, prompt: [] }, /must not be empty/],
      ["session/prompt", { sessionId: 1, prompt: [text] }, /'params.sessionId' must be a string/],
      ["session/prompt", { sessionId: "x".repeat(300), prompt: [text] }, /at most 256/],
      ["session/prompt", { sessionId, prompt: [{ type: "text" }] }, /prompt\[0\].text/],
      ["session/prompt", { sessionId, prompt: [{ type: "tune" }] }, /must be one of: text, image/],
      [
        "session/prompt",
        { sessionId, prompt: [text, { type: "text", text: "a\0b" }] },
        /prompt\[1\].text' must not contain null bytes/,
      ],
      [
        "session/prompt",
        { sessionId, prompt: [{ type: "resource", resource: { uri: "a:b" } }] },
        /must have a text or a blob/,
      ],
      ["initialize", { protocolVersion: -1 }, /at least 0/],
      ["initialize", { protocolVersion: 70_000 }, /at most 65535/],
      ["authenticate", { methodId: "x" }, /'x', which names no agent/],
    ] as const) {
      await assert.rejects(client.ask(method, params), { code: -32602, message: words });
    }
    assert.deepEqual(await client.ask("logout", {}), {});
    assert.equal(app.agent.sessions.length, 1, "nothing was begun of what was refused");
  });

  it("finds no session under an impossible id", async () => {
    covers("acp.id.characters");
    await using app = await AcpApp.open();
    const { client } = await app.client();
    for (const id of ["../../etc", "a\nb", "' OR 1=1 --", "%", "\u0000", "😀"]) {
      await assert.rejects(client.prompt(id, "x"), { code: -31900 }, id);
      const place = { sessionId: id, cwd: "/tmp", mcpServers: [] };
      await assert.rejects(client.ask("session/load", place), { code: -31900 }, id);
    }
  });

  it("reads slowly if every message is wrong, but answers every request", async () => {
    covers("acp.answer.rate");
    await using app = await AcpApp.open();
    const { client } = await app.client();
    assert.deepEqual(app.door.peerOptions.errorRate, { limit: 100, windowMs: 1_000 });
    for (let at = 0; at < 150; at++) client.send([]);
    const ids = Array.from({ length: 10 }, () => client.post("nothing/at_all", {}));
    for (const id of ids) assert.equal((await client.answerTo(id)).error.code, -32601);
    assert.deepEqual((await client.ask("session/list", {})).sessions.length, 1);
  });

  it("applies the size limits of the specification", async () => {
    covers(
      "acp.size.initialize",
      "acp.size.new",
      "acp.size.prompt",
      "acp.error.invalid-request",
      "acp.content.size",
    );
    await using app = await AcpApp.open();
    const { client, sessionId } = await app.client();
    const pad = (length: number) => ({ _meta: { pad: "x".repeat(length) } });
    const KB = 1024;
    const hello = (length: number) =>
      client.ask("initialize", { protocolVersion: 1, ...pad(length) });
    await hello(9 * KB);
    await assert.rejects(hello(10 * KB), { code: -32600, message: /10240 bytes/ });
    const place = { cwd: "/tmp", mcpServers: [] };
    await client.ask("session/new", { ...place, ...pad(49 * KB) });
    await assert.rejects(client.ask("session/new", { ...place, ...pad(50 * KB) }), {
      code: -32600,
      message: /51200 bytes/,
    });
    await client.prompt(sessionId, "x".repeat(1000 * KB));
    await assert.rejects(client.prompt(sessionId, "x".repeat(1024 * KB)), {
      code: -32600,
      message: /1048576 bytes/,
    });
  });

  it("accepts ten prompts a minute for each session", async () => {
    covers("acp.rate.prompt");
    await using app = await AcpApp.open();
    const { client, sessionId } = await app.client();
    for (let at = 0; at < 10; at++) await client.prompt(sessionId, "x");
    await assert.rejects(client.prompt(sessionId, "x"), {
      code: -32029,
      message: /10 times in 60/,
    });
    const { sessionId: other } = await client.ask("session/new", { cwd: "/tmp", mcpServers: [] });
    await client.prompt(String(other), "x");
  });

  it("does not count commands that the agent runs without a model", async () => {
    await using app = await AcpApp.open();
    const { client, sessionId } = await app.client();
    await client.prompt(sessionId, "x");
    const isCommand = ([block]: readonly { readonly text?: unknown }[]) => block?.text === "/help";
    for (const session of app.agent.sessions) Object.assign(session, { isCommand });
    for (let at = 0; at < 12; at++) await client.prompt(sessionId, "/help");
    for (let at = 0; at < 9; at++) await client.prompt(sessionId, "x");
    await assert.rejects(client.prompt(sessionId, "x"), { code: -32029 });
    await client.prompt(sessionId, "/help");
  });
});
