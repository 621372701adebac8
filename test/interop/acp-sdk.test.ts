import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";

import {
  type Context,
  httpStream,
  loadSdk,
  loadSdkV2,
  Oracle,
  stdioStream,
  type Stream,
  webSocketStream,
} from "../acp/oracle.ts";
import { covers } from "../support/requirement.ts";
import { readyOf } from "../support/owner-access.ts";
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

/** The same in the draft of version 2. */
async function useAllInV2(context: Context, cwd: string, ends: Ends): Promise<string[]> {
  const hello = await context.request("initialize", {
    protocolVersion: 2,
    info: { name: "sdk", version: "2" },
    capabilities: { elicitation: { form: {} } },
  });
  assert.equal(hello.protocolVersion, 2);
  const { sessionId } = await context.request("session/new", { cwd, mcpServers: [] });
  const say = async (text: string): Promise<void> => {
    const prompt = [{ type: "text", text }];
    const { messageId } = await context.request("session/prompt", { sessionId, prompt });
    assert.equal(typeof messageId, "string");
  };
  for (const text of ["say Hi there!", "permission", `read ${cwd}/a.txt`, "run wait|echo ran"]) {
    const end = ends.next();
    await say(text);
    await end;
  }
  const { configOptions } = await context.request("session/set_config_option", {
    sessionId,
    configId: "mode",
    type: "id",
    value: "ask",
  });
  assert.equal(configOptions[0].currentValue, "ask");
  const cancelled = ends.next();
  await say("forever");
  await context.notify("session/cancel", { sessionId });
  await cancelled;
  await context.request("session/close", { sessionId });
  const place = { sessionId, cwd, mcpServers: [] };
  await context.request("session/resume", { ...place, replayFrom: { type: "start" } });
  const forked = await context.request("session/fork", place);
  await context.request("session/list", { cwd });
  await context.request("session/delete", { sessionId: forked.sessionId });
  const prompt = [{ type: "text", text: "x" }];
  const unknown = context.request("session/prompt", { sessionId: "invalid", prompt });
  await assert.rejects(unknown, { code: -32002 });
  return ends.reasons;
}

/** The ends of turns, as version 2 tells them. */
class Ends {
  readonly reasons: string[] = [];
  #next = Promise.withResolvers<void>();

  next(): Promise<void> {
    this.#next = Promise.withResolvers<void>();
    return this.#next.promise;
  }

  heard(update: { readonly state?: string; readonly stopReason?: string }): void {
    if (update.state !== "idle" || update.stopReason === undefined) return;
    this.reasons.push(update.stopReason);
    this.#next.resolve();
  }
}

interface Seen {
  readonly update: {
    readonly sessionUpdate: string;
    readonly content?: { readonly text: string };
  };
}

type Drive = (stream: Stream, cwd: string) => Promise<void>;

/** Version 1, as editors of today speak it. */
async function driveV1(stream: Stream, cwd: string): Promise<void> {
  const sdk = await loadSdk();
  const oracle = await Oracle.load();
  const updates: Seen[] = [];
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
  assert.match(textOf(updates), /^Hi there!.*"optionId":"once".*not saved yet/s);
  assert.equal(asked[1]?.path, join(cwd, "a.txt"));
}

async function driveV2(stream: Stream, cwd: string): Promise<void> {
  const sdk = await loadSdkV2();
  const oracle = await Oracle.load(2);
  const updates: Seen[] = [];
  const ends = new Ends();
  const app = sdk
    .client({ name: "test" })
    .onNotification("session/update", ({ params }) => {
      updates.push(params);
      ends.heard(params.update);
    })
    .onRequest("session/request_permission", ({ params }) => {
      assert.equal(params.title, "Run npm install");
      return { outcome: { outcome: "selected", optionId: "once" } };
    });
  const reasons = await app.connectWith(oracle.watch(stream), (context) =>
    useAllInV2(context, cwd, ends),
  );
  assert.deepEqual(reasons, [...Array.from({ length: 4 }, () => "end_turn"), "cancelled"]);
  assert.deepEqual(oracle.problems, []);
  const agent = updates.filter(({ update }) => update.sessionUpdate === "agent_message_chunk");
  assert.match(textOf(agent), /^Hi there!.*"optionId":"once".*one\ntwo.*ran/s);
}

function textOf(updates: readonly Seen[]): string {
  return updates.map(({ update }) => update.content?.text ?? "").join("");
}

for (const [version, drive] of [
  ["version 1", driveV1],
  ["version 2", driveV2],
] as const) {
  describe(`the official SDK's client of ${version}`, { timeout: 600_000 }, () => {
    it("holds whole conversations on stdio, and everything we send matches the schemas", async () => {
      covers(
        "acp.transport.ndjson",
        "acp.read-file.request",
        "acp.read-file.answer",
        "acp.permission.request",
      );
      covers("acp.permission.answer", "acp.load.session");
      using workspace = new Workspace();
      await using program = new Program(["acp", "--config", workspace.config]);
      await driveOnStdio(program, drive, workspace.path);
    });

    for (const [name, open] of [
      ["a WebSocket", webSocketStream],
      ["Streamable HTTP", httpStream],
    ] as const) {
      it(`holds whole conversations on ${name}`, async () => {
        using workspace = new Workspace();
        await using program = new Program([
          ...["serve", "--port", "0", "--json"],
          ...["--config", workspace.config],
        ]);
        const [ready] = await program.answers(1);
        await drive(await open(readyOf(ready)), workspace.path);
        program.child.kill("SIGTERM");
        assert.equal(await program.exit, 0);
      });
    }
  });
}

async function driveOnStdio({ child, exit }: Program, drive: Drive, cwd: string): Promise<void> {
  await drive(await stdioStream(child), cwd);
  child.stdin.end();
  assert.equal(await exit, 0);
}
