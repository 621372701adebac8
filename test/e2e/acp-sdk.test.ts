import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Writable } from "node:stream";
import { before, describe, it } from "node:test";

import {
  type Context,
  httpStream,
  loadSdk,
  Oracle,
  type Sdk,
  type Stream,
  webSocketStream,
} from "../acp/oracle.ts";
import { covers } from "../requirements/acp.ts";
import { Program } from "../support/program.ts";

const AGENT = join(import.meta.dirname, "../support/acp-agent.mjs");

/** A workspace, and a configuration with an agent of somebody else's. */
class Workspace implements Disposable {
  readonly path = mkdtempSync(join(tmpdir(), "trunkline-acp-"));
  readonly config = join(this.path, "config.jsonc");

  constructor() {
    const other = { command: process.execPath, args: [AGENT] };
    writeFileSync(this.config, JSON.stringify({ agent: "other", agents: { other } }));
    writeFileSync(join(this.path, "a.txt"), "one\ntwo\n");
  }

  [Symbol.dispose](): void {
    rmSync(this.path, { recursive: true });
  }
}

/** Everything that an editor does, once. */
async function useAll(context: Context, cwd: string): Promise<string[]> {
  const hello = await context.request("initialize", {
    protocolVersion: 1,
    clientCapabilities: { fs: { readTextFile: true, writeTextFile: true } },
    clientInfo: { name: "sdk", version: "1" },
  });
  assert.equal(hello.protocolVersion, 1);
  const created = await context.request("session/new", { cwd, mcpServers: [] });
  const { sessionId } = created;
  const say = (text: string) =>
    context.request("session/prompt", { sessionId, prompt: [{ type: "text", text }] });
  const ends = [
    await say("say Hi there!"),
    await say("permission"),
    await say(`read ${cwd}/a.txt`),
  ];
  await context.request("session/set_mode", { sessionId, modeId: "ask" });
  const { configOptions } = await context.request("session/set_config_option", {
    sessionId,
    configId: "mode",
    value: "code",
  });
  assert.equal(configOptions[0].currentValue, "code");
  const endless = say("forever");
  await context.notify("session/cancel", { sessionId });
  ends.push(await endless);
  await context.request("session/close", { sessionId });
  await context.request("session/load", { sessionId, cwd, mcpServers: [] });
  await context.request("session/resume", { sessionId, cwd, mcpServers: [] });
  const forked = await context.request("session/fork", { sessionId, cwd, mcpServers: [] });
  const { sessions } = await context.request("session/list", { cwd });
  assert.deepEqual(
    new Set(sessions.map((session: { sessionId: string }) => session.sessionId)),
    new Set([sessionId, forked.sessionId]),
  );
  await context.request("session/delete", { sessionId: forked.sessionId });
  await context.request("logout", {});
  const unknown = context.request("session/prompt", {
    sessionId: "invalid",
    prompt: [{ type: "text", text: "x" }],
  });
  await assert.rejects(unknown, { code: -31900, message: /Session not found/ });
  return ends.map(({ stopReason }) => stopReason as string);
}

describe("the official SDK's client", { timeout: 60_000 }, () => {
  let sdk: Sdk;
  before(async () => {
    sdk = await loadSdk();
  });

  async function drive(stream: Stream, cwd: string): Promise<void> {
    const oracle = await Oracle.load();
    const updates: { update: { sessionUpdate: string; content?: { text: string } } }[] = [];
    const asked: { path?: string }[] = [];
    const app = sdk
      .client({ name: "test" })
      .onNotification("session/update", ({ params }) => void updates.push(params))
      .onRequest("session/request_permission", ({ params }) => {
        asked.push(params);
        return { outcome: { outcome: "selected", optionId: "once" } };
      })
      .onRequest("fs/read_text_file", ({ params }) => {
        asked.push(params);
        return { content: "not saved yet" };
      });
    const ends = await app.connectWith(oracle.watch(stream), (context) => useAll(context, cwd));
    assert.deepEqual(ends, ["end_turn", "end_turn", "end_turn", "cancelled"]);
    assert.deepEqual(oracle.problems, []);
    assert.ok((oracle.seen.get("call session/update") ?? 0) > 5);
    const text = updates.map(({ update }) => update.content?.text ?? "").join("");
    assert.match(text, /^Hi there!.*"optionId":"once".*not saved yet/s);
    assert.equal(asked[1]?.path, join(cwd, "a.txt"));
  }

  it("holds whole conversations on stdio, and all we send is as the schemas say", async () => {
    covers("transport.ndjson", "read-file.request", "read-file.answer", "permission.request");
    covers("permission.answer", "load.session");
    using workspace = new Workspace();
    await using program = new Program(["acp", "--config", workspace.config]);
    const { stdin, stdout } = program.child;
    const out = Writable.toWeb(stdin) as WritableStream<Uint8Array>;
    const input = new ReadableStream<Uint8Array>({
      start: (controller) =>
        void stdout.on("data", (text: string) => controller.enqueue(Buffer.from(text))),
    });
    await drive(sdk.ndJsonStream(out, input), workspace.path);
    stdin.end();
    assert.equal(await program.exit, 0);
  });

  for (const [name, open] of [
    ["a WebSocket", webSocketStream],
    ["Streamable HTTP", (url: string) => httpStream(url.replace("ws", "http"))],
  ] as const) {
    it(`holds whole conversations on ${name}`, async () => {
      using workspace = new Workspace();
      await using program = new Program([
        ...["serve", "--port", "0", "--json"],
        ...["--config", workspace.config],
      ]);
      const [ready] = await program.answers(1);
      await drive(await open(String(ready?.acp)), workspace.path);
      program.child.kill("SIGTERM");
      assert.equal(await program.exit, 0);
    });
  }
});
