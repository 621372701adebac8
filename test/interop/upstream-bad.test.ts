import assert from "node:assert/strict";
import { mkdtempDisposable, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";

import type { Json } from "../support/acp-app.ts";
import { Program } from "../support/program.ts";

const SUPPORT = join(import.meta.dirname, "../support");
const HELLO = {
  protocolVersion: "2025-11-25",
  capabilities: {},
  clientInfo: { name: "test", version: "1" },
};
/** What each server has, and what its caller gets: words, or nothing for as long as it waits. */
const TROUBLES: Readonly<Record<string, RegExp | undefined>> = {
  dies: /MCP server 'dies' ended before it had answered\. It exited with code 3/,
  hangs: undefined,
  "floods stderr": undefined,
  "floods stdout": undefined,
  "floods messages": undefined,
  "asks without end": undefined,
  "answers wrong ids": undefined,
  "answers twice": /"content":\[\]/,
  "answers no JSON": undefined,
  "answers half a line": undefined,
  "answers too much": /33554432/,
  "closes stdout": /MCP server 'closes stdout' ended before it had answered/,
  "reads no more": undefined,
};

describe("misbehaving MCP servers", { timeout: 600_000 }, () => {
  it("fail only their own calls, all at the same time", async () => {
    await using folder = await mkdtempDisposable(join(tmpdir(), "trunkline-bad-"));
    const server = (...args: string[]): object => ({ command: process.execPath, args });
    const mcpServers = Object.fromEntries([
      ["good", server(join(SUPPORT, "notes-server.mjs"))],
      ...Object.keys(TROUBLES).map((trouble) => {
        return [trouble, server(join(SUPPORT, "bad-server.mjs"), trouble)];
      }),
    ]);
    const config = join(folder.path, "config.jsonc");
    await writeFile(config, JSON.stringify({ mcpServers }));
    await using program = new Program(["mcp", "--config", config]);
    const answers = new Map<unknown, Json>();
    let read = 0;
    const answerTo = async (id: unknown): Promise<Json> => {
      await program.until(({ lines }) => {
        for (; read < lines.length; read++) {
          const message: Json = JSON.parse(lines[read] ?? "");
          assert.ok(!answers.has(message.id) || message.method !== undefined, String(lines[read]));
          if (message.method === undefined) answers.set(message.id, message);
        }
        return answers.has(id);
      });
      return answers.get(id);
    };
    const ask = (id: unknown, method: string, params: object = {}): Promise<Json> => {
      program.write({ jsonrpc: "2.0", id, method, params });
      return answerTo(id);
    };
    const good = async (id: number): Promise<void> => {
      const params = { name: "read_note", arguments: { name: String(id) } };
      const { result } = await ask(id, "tools/call", params);
      assert.match(result.content[0].text, new RegExp(`^The note ${id}:`));
    };
    await ask("hello", "initialize", HELLO);
    let names: string[] = [];
    for (let lists = 0; names.length < Object.keys(TROUBLES).length; lists++) {
      // On a busy machine some may need longer than a list waits.
      const { result } = await ask(`list ${lists}`, "tools/list");
      names = result.tools
        .map(({ name }: Json) => name)
        .filter((name: string) => Object.hasOwn(TROUBLES, name.replaceAll("_", " ")));
    }
    for (const trouble of Object.keys(TROUBLES)) {
      const name = trouble.replaceAll(" ", "_");
      const params = { name, arguments: {} };
      program.write({ jsonrpc: "2.0", id: trouble, method: "tools/call", params });
    }
    for (const [trouble, expected] of Object.entries(TROUBLES)) {
      if (expected !== undefined) assert.match(JSON.stringify(await answerTo(trouble)), expected);
    }
    for (let id = 1; id <= 20; id++) await good(id);
    for (const [trouble, expected] of Object.entries(TROUBLES)) {
      if (expected !== undefined) continue;
      assert.ok(!answers.has(trouble), JSON.stringify(answers.get(trouble)));
      const params = { requestId: trouble };
      program.write({ jsonrpc: "2.0", method: "notifications/cancelled", params });
    }
    await good(21);
    program.child.stdin.end();
    assert.equal(await program.exit, 0);
  });
});
