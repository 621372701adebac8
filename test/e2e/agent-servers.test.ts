import assert from "node:assert/strict";
import { join } from "node:path";
import { describe, it } from "node:test";

import { AgentEditor } from "../agent/agent-editor.ts";
import { FakeLlm, type Scripted } from "../agent/fake-llm.ts";
import { McpHttpServer } from "../support/mcp-http-server.ts";

const ECHO = join(import.meta.dirname, "../support/echo-server.mjs");
const DONE: Scripted = { content: "Done." };

describe("the MCP servers of a session", { timeout: 600_000 }, () => {
  it("are used on stdio in both forms; a dead one is reported once", async () => {
    await using llm = await FakeLlm.start([
      {
        toolCalls: [
          { name: "today_read", arguments: { message: "one" } },
          { name: "local_read", arguments: { message: "two" } },
        ],
      },
      DONE,
    ]);
    await using editor = new AgentEditor({ llm });
    const echo = (name: string): string[] => [ECHO, name, join(editor.folder, name)];
    const mcpServers = [
      { name: "dead", command: "/no/such/program", args: [], env: [] },
      { name: "today", command: process.execPath, args: echo("today"), env: [] },
      { name: "local", type: "local", command: [process.execPath, ...echo("local")] },
    ];
    const { sessionId } = await editor.begin({ mcpServers });
    const { calls, text } = await editor.say(String(sessionId), "go");
    assert.equal(calls.length, 2);
    assert.ok(
      calls.every((each) => each.endsWith(": completed")),
      calls.join(),
    );
    assert.match(llm.seen(1), /tool: \d+ one[^]*tool: \d+ two/);
    assert.match(text, /'dead' is not there.*no such program/i);
    assert.doesNotMatch((await editor.say(String(sessionId), "again")).text, /dead/);
  });

  it("are used over HTTP and SSE, with their headers", async () => {
    await using llm = await FakeLlm.start([DONE]);
    await using http = await McpHttpServer.start();
    await using editor = new AgentEditor({ llm });
    const headers = [{ name: "x-from", value: "editor" }];
    const mcpServers = [
      { type: "http", name: "far", url: `${http.url}/mcp`, headers },
      { type: "sse", name: "old", url: `${http.url}/sse`, headers },
    ];
    const { sessionId } = await editor.begin({ mcpServers });
    const { text } = await editor.say(String(sessionId), "go");
    assert.equal(text, "Done.", "nothing is amiss");
    const names = llm.tools.filter((name) => name.includes("test_simple_text"));
    assert.equal(names.length, 2, llm.tools.join());
  });

  it("end with the session", async () => {
    await using llm = await FakeLlm.start([
      { toolCalls: [{ name: "echo_read", arguments: { message: "hi" } }] },
      DONE,
    ]);
    await using editor = new AgentEditor({ llm });
    const args = [ECHO, "echo", join(editor.folder, "record")];
    const mcpServers = [{ name: "echo", command: process.execPath, args, env: [] }];
    const { sessionId } = await editor.begin({ mcpServers });
    await editor.say(String(sessionId), "go");
    const [, pid] = /tool: (\d+) hi/.exec(llm.seen(1)) ?? [];
    process.kill(Number(pid), 0);
    await editor.ask("session/close", { sessionId });
    assert.throws(() => process.kill(Number(pid), 0), { code: "ESRCH" });
  });
});
