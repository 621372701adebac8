import assert from "node:assert/strict";
import { mkdtempDisposable, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";

import type { Json } from "../support/acp-app.ts";
import { Program } from "../support/program.ts";

const SERVER = join(import.meta.dirname, "../support/gated-server.mjs");
const HELLO = {
  protocolVersion: "2025-11-25",
  capabilities: {},
  clientInfo: { name: "test", version: "1" },
};

/** A program for which one MCP server is configured that takes its time. */
async function started(...command: string[]) {
  const folder = await mkdtempDisposable(join(tmpdir(), "trunkline-slow-"));
  const gate = join(folder.path, "gate");
  const config = join(folder.path, "config.jsonc");
  const mcpServers = { slow: { command: process.execPath, args: [SERVER, gate] } };
  await writeFile(config, JSON.stringify({ mcpServers }));
  const program = new Program([...command, "--config", config]);
  const isAnswerTo = (id: number) => (line: string) => JSON.parse(line).id === id;
  return {
    program,
    ask: (id: number, method: string, params: object = {}) => {
      program.write({ jsonrpc: "2.0", id, method, params });
    },
    answer: async (id: number): Promise<Json> => {
      await program.until(({ lines }) => lines.some(isAnswerTo(id)));
      return JSON.parse(program.lines.find(isAnswerTo(id)) ?? "");
    },
    told: async (method: string, isIt?: (params: Json) => boolean): Promise<Json> => {
      const find = (): Json =>
        program.lines
          .map((line): Json => JSON.parse(line))
          .find((it) => it.method === method && isIt?.(it.params) !== false);
      await program.until(() => find() !== undefined);
      return find().params;
    },
    letIn: (what = "") => writeFile(gate, what),
    [Symbol.asyncDispose]: async () => {
      await program[Symbol.asyncDispose]();
      await folder.remove();
    },
  };
}

describe("an MCP server that takes long to start", { timeout: 600_000 }, () => {
  it("is waited for by a call of its tool before any list", async () => {
    await using slow = await started("mcp");
    slow.ask(1, "initialize", HELLO);
    const params = { name: "late", arguments: {}, _meta: { progressToken: "p" } };
    slow.ask(2, "tools/call", params);
    // The first may come before the server has said anything.
    const words = /^MCP server 'slow' is still starting, after \d+ s; its last line: fetching/;
    await slow.told("notifications/progress", ({ message }) => words.test(message));
    await slow.letIn();
    const { result } = await slow.answer(2);
    assert.equal(result.content[0].text, "better late than never");
    slow.program.child.stdin.end();
    assert.equal(await slow.program.exit, 0);
  });

  it("is named by a list that lacks its tools, and announced when it is ready", async () => {
    await using slow = await started("mcp");
    slow.ask(1, "initialize", HELLO);
    await slow.answer(1);
    slow.program.write({ jsonrpc: "2.0", method: "notifications/initialized" });
    slow.ask(2, "tools/list");
    const { result } = await slow.answer(2);
    assert.ok(!result.tools.some(({ name }: Json) => name === "late"));
    const [why] = result._meta["trunkline/missing"];
    assert.match(why, /^MCP server 'slow' is still starting/);
    const isIt = ({ data }: Json): boolean => data.server === "slow";
    assert.match((await slow.told("notifications/message", isIt)).message, /not in the list/);
    await slow.letIn();
    await slow.told("notifications/tools/list_changed");
    slow.ask(3, "tools/list");
    const listed = await slow.answer(3);
    assert.ok(listed.result.tools.some(({ name }: Json) => name === "late"));
    slow.program.child.stdin.end();
    assert.equal(await slow.program.exit, 0);
  });

  it("is named with its problem by a call of an unknown tool", async () => {
    await using slow = await started("mcp");
    slow.ask(1, "initialize", HELLO);
    slow.ask(2, "tools/call", { name: "late", arguments: {} });
    await slow.letIn("fail");
    const { error } = await slow.answer(2);
    assert.match(error.message, /Unknown tool: late\. MCP server 'slow' could not be started/);
    assert.match(error.message, /exited with code 3, after saying: no such package/);
    slow.program.child.stdin.end();
    assert.equal(await slow.program.exit, 0);
  });

  it("is waited for by 'tool list' and 'tool call', which say so", async () => {
    await using listing = await started("tool", "list");
    await listing.program.until(({ stderr }) => stderr.includes("Waiting: MCP server 'slow'"));
    await listing.letIn();
    assert.equal(await listing.program.exit, 0);
    assert.ok(listing.program.lines.some((line) => /^ {2}late\b/.test(line)));
    await using calling = await started("tool", "call", "late");
    await calling.program.until(({ stderr }) => stderr.includes("is still starting"));
    await calling.letIn();
    assert.equal(await calling.program.exit, 0);
    assert.deepEqual(calling.program.lines, ["better late than never"]);
  });

  it("is named with its problem by 'tool list', 'tool call' and 'doctor'", async () => {
    for (const [command, code] of [
      ["tool list", 0],
      ["tool call late", 1],
      ["doctor --deep", 1],
    ] as const) {
      await using slow = await started(...command.split(" "));
      await slow.letIn("fail");
      assert.equal(await slow.program.exit, code, command);
      const said = slow.program.lines.join("\n") + slow.program.stderr;
      assert.match(said, /MCP server 'slow'.*exited with code 3, after saying: no such package/);
    }
  });
});
