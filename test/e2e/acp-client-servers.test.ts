import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";

import { type Context, loadSdk, packages, stdioStream } from "../acp/oracle.ts";
import { FakeLlm } from "../agent/fake-llm.ts";
import type { Json } from "../support/acp-app.ts";
import { Program } from "../support/program.ts";

const AGENT = join(import.meta.dirname, "../support/acp-agent.mjs");
const M = "io.modelcontextprotocol/";

/** What the SDK hands to a server that a client has itself. */
interface Asked {
  readonly method: string;
  readonly params?: Json;
  readonly signal: AbortSignal;
  notify(method: string, params: object): Promise<void>;
}

interface Provider {
  registerServer(
    context: object,
    options: { name: string; handler: (asked: Asked) => unknown },
  ): { readonly declaration: object };
  readonly handleRequest: (context: object) => unknown;
}

const ECHO = { name: "echo", description: "Echoes a text", inputSchema: { type: "object" } };

/** A server of MCP 2026-07-28, which is what ACP carries. */
async function answer(asked: Asked): Promise<object> {
  const { method, params, signal } = asked;
  const _meta = { [`${M}serverInfo`]: { name: "editor", version: "1" } };
  const done = { resultType: "complete", _meta };
  switch (method) {
    case "server/discover":
      await asked.notify("notifications/message", { level: "info", data: "asked" });
      return {
        result: { ...done, supportedVersions: ["2026-07-28"], capabilities: { tools: {} } },
      };
    case "tools/list":
      return { result: { ...done, ttlMs: 0, cacheScope: "private", tools: [ECHO] } };
    case "tools/call": {
      const { text } = (params?.arguments ?? {}) as { text?: string };
      if (text === undefined) return { error: { code: -32602, message: "No text" } };
      return { result: { ...done, content: [{ type: "text", text: `Echo: ${text}` }] } };
    }
    case "subscriptions/listen":
      return new Promise((resolve) => {
        signal.addEventListener("abort", () => resolve({ result: done }));
      });
    default:
      return { error: { code: -32601, message: "Method not found" } };
  }
}

class Home implements Disposable {
  readonly path = mkdtempSync(join(tmpdir(), "trunkline-client-servers-"));
  readonly where = ["--config", join(this.path, "config.jsonc"), "--data", join(this.path, "data")];

  constructor(config: object) {
    writeFileSync(join(this.path, "config.jsonc"), JSON.stringify(config));
  }

  [Symbol.dispose](): void {
    rmSync(this.path, { recursive: true });
  }
}

interface Editor {
  readonly context: Context;
  readonly hello: Json;
  /** The declaration of the editor's own server. */
  readonly server: object;
  /** What agents have said so far. */
  said(): string;
}

/** An editor with a server of its own, made with the official SDK. */
async function withEditor(
  program: Program,
  work: (editor: Editor) => Promise<void>,
): Promise<void> {
  const sdk = await loadSdk();
  const { McpOverAcpProvider } = await packages.import<{ McpOverAcpProvider: new () => Provider }>(
    ...["@agentclientprotocol", "sdk", "dist/v1/unstable/acp.js"],
  );
  const provider = new McpOverAcpProvider();
  let said = "";
  const app = sdk
    .client({ name: "editor" })
    .onRequest("mcp/message", provider.handleRequest)
    .onRequest("session/request_permission", ({ params }) => {
      const [{ optionId }] = params.options;
      return { outcome: { outcome: "selected", optionId } };
    })
    .onNotification("session/update", ({ params }) => {
      if (params.update.sessionUpdate === "agent_message_chunk") said += params.update.content.text;
    });
  await app.connectWith(await stdioStream(program.child), async (context) => {
    const { declaration } = provider.registerServer(context, { name: "editor", handler: answer });
    const hello = await context.request("initialize", {
      ...{ protocolVersion: 1, clientCapabilities: {} },
      clientInfo: { name: "editor", version: "1" },
    });
    await work({ context, hello, server: declaration, said: () => said });
    program.child.stdin.end();
  });
}

const prompt = async ({ context }: Editor, sessionId: string, text: string) =>
  await context.request("session/prompt", { sessionId, prompt: [{ type: "text", text }] });

describe("an MCP server that the editor has itself", { timeout: 600_000 }, () => {
  it("is used by the built-in agent", async () => {
    const use = (args: object) => ({ toolCalls: [{ name: "echo", arguments: args }] });
    await using llm = await FakeLlm.start([use({ text: "hello" }), use({}), { content: "Done." }]);
    using home = new Home({ models: { local: false } });
    const env = { OPENAI_API_KEY: "k".repeat(20), OPENAI_BASE_URL: `${llm.url}/v1` };
    await using program = new Program(["acp", ...home.where], { env });
    await withEditor(program, async (editor) => {
      assert.equal(editor.hello.agentCapabilities.mcpCapabilities.acp, true);
      const { sessionId } = await editor.context.request("session/new", {
        ...{ cwd: home.path, mcpServers: [editor.server] },
      });
      const { stopReason } = await prompt(editor, sessionId, "echo hello");
      assert.equal(stopReason, "end_turn");
    });
    assert.equal(await program.exit, 0);
    const seen = llm.seen(-1);
    assert.match(seen, /Echo: hello/);
    assert.match(seen, /No text/);
  });

  it("is reached by an agent that takes such servers, also through the process that holds its session", async () => {
    const other = { command: process.execPath, args: [AGENT, "--client-servers"] };
    using home = new Home({ agent: "other", agents: { other, old: { ...other, args: [AGENT] } } });
    await using holder = new Program(["acp", ...home.where]);
    await using program = new Program(["acp", ...home.where]);
    let held = "";
    await withEditor(program, async (editor) => {
      const { context, server } = editor;
      const place = { cwd: home.path, mcpServers: [server] };
      const { sessionId } = await context.request("session/new", place);
      await prompt(editor, sessionId, "server server/discover");
      assert.match(editor.said(), /"supportedVersions":\["2026-07-28"\]/);
      assert.match(editor.said(), /"heard":\["notifications\/message"\]/);
      await prompt(editor, sessionId, "server no/such");
      assert.match(editor.said(), /"error":\{"code":-32601,"message":"Method not found"\}/);
      // The ids that agents know are ours: those of two editors may be the same.
      await prompt(editor, sessionId, "mcp");
      const { serverId } = server as { serverId: string };
      assert.ok(!editor.said().includes(serverId), editor.said());
      // An agent that takes none is not given it.
      const _meta = { trunkline: { agent: "old" } };
      const old = await context.request("session/new", { ...place, _meta });
      await prompt(editor, old.sessionId, "mcp");
      assert.match(editor.said(), /\[\]$/);
      held = sessionId;
    });
    await program.exit;
    await withEditor(holder, async (first) => {
      // What it was told of the agent's last start.
      assert.equal(first.hello.agentCapabilities.mcpCapabilities.acp, true);
      const place = { sessionId: held, cwd: home.path, mcpServers: [first.server] };
      await first.context.request("session/load", place);
      await using second = new Program(["acp", ...home.where]);
      await withEditor(second, async (joined) => {
        const begun = { cwd: home.path, mcpServers: [joined.server] };
        await joined.context.request("session/load", { ...begun, sessionId: held });
        await prompt(joined, held, "server server/discover");
        assert.match(joined.said(), /"heard":\["notifications\/message"\]/);
      });
      await second.exit;
    });
    await holder.exit;
  });
});
