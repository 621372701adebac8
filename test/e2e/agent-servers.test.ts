import assert from "node:assert/strict";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";

import { AgentEditor } from "../agent/agent-editor.ts";
import { FakeLlm, type Scripted } from "../agent/fake-llm.ts";
import { McpHttpServer } from "../support/mcp-http-server.ts";
import { CAN_LIST_PROCESSES, processesWhere } from "../support/processes.ts";

const ECHO = join(import.meta.dirname, "../support/echo-server.mjs");
const DONE: Scripted = { content: "Done." };

/** Has turns until the model is offered these tools: on a busy machine, servers may be late for the first. */
async function offered(
  editor: AgentEditor,
  id: string,
  llm: FakeLlm,
  names: RegExp,
  count: number,
): Promise<string> {
  let said = "";
  while (llm.tools.filter((name) => names.test(name)).length < count) {
    said += (await editor.say(id, "hello")).text;
  }
  return said;
}

describe("the MCP servers of a session", { timeout: 600_000 }, () => {
  let llm: FakeLlm;
  let editor: AgentEditor;
  before(async () => {
    llm = await FakeLlm.start([]);
    editor = await AgentEditor.open({ llm });
  });
  after(async () => {
    await editor[Symbol.asyncDispose]();
    await llm[Symbol.asyncDispose]();
  });

  it("are used on stdio in both forms; a dead one is reported once", async () => {
    llm.play([DONE]);
    const echo = (name: string): string[] => [ECHO, name, join(editor.folder, name)];
    const mcpServers = [
      { name: "dead", command: "/no/such/program", args: [], env: [] },
      { name: "today", command: process.execPath, args: echo("today"), env: [] },
      { name: "local", type: "local", command: [process.execPath, ...echo("local")] },
    ];
    const id = await editor.another({}, { mcpServers });
    const said = await offered(editor, id, llm, /^(?:today|local)_read$/, 2);
    llm.play([
      {
        toolCalls: [
          { name: "today_read", arguments: { message: "one" } },
          { name: "local_read", arguments: { message: "two" } },
        ],
      },
      DONE,
    ]);
    const { calls, text } = await editor.say(id, "go");
    assert.equal(calls.length, 2);
    assert.ok(
      calls.every((each) => each.endsWith(": completed")),
      calls.join(),
    );
    assert.match(llm.seen(1), /tool: \d+ one[^]*tool: \d+ two/);
    assert.match(said, /'dead' is not there.*no such program/i);
    assert.doesNotMatch(text, /dead/);
    // Whoever takes the session over finds them by this.
    const marked = processesWhere(
      ({ environment, command }) =>
        command.includes("echo-server") && environment.some((each) => each.includes(`@${id};`)),
    );
    if (CAN_LIST_PROCESSES) assert.equal(marked.length, 2);
  });

  it("are used over HTTP and SSE, with their headers", async () => {
    llm.play([DONE]);
    await using http = await McpHttpServer.start();
    const headers = [{ name: "x-from", value: "editor" }];
    const mcpServers = [
      { type: "http", name: "far", url: `${http.url}/mcp`, headers },
      { type: "sse", name: "old", url: `${http.url}/sse`, headers },
    ];
    const id = await editor.another({}, { mcpServers });
    const said = await offered(editor, id, llm, /test_simple_text/, 2);
    // Nothing else is amiss.
    assert.doesNotMatch(
      said.replace(/.* is not there.*it has not answered yet.*/g, ""),
      /not there/,
    );
    assert.equal((await editor.say(id, "go")).text, "Done.");
    await editor.ask("session/close", { sessionId: id });
  });

  it("end with the session", async () => {
    llm.play([DONE]);
    const args = [ECHO, "echo", join(editor.folder, "record")];
    const mcpServers = [{ name: "echo", command: process.execPath, args, env: [] }];
    const sessionId = await editor.another({}, { mcpServers });
    await offered(editor, sessionId, llm, /^echo_read$/, 1);
    llm.play([{ toolCalls: [{ name: "echo_read", arguments: { message: "hi" } }] }, DONE]);
    await editor.say(sessionId, "go");
    const [, pid] = /tool: (\d+) hi/.exec(llm.seen(1)) ?? [];
    process.kill(Number(pid), 0);
    await editor.ask("session/close", { sessionId });
    assert.throws(() => process.kill(Number(pid), 0), { code: "ESRCH" });
  });
});
