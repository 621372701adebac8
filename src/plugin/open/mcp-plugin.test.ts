import assert from "node:assert/strict";
import { mkdir, mkdtempDisposable, readdir, readFile, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";

import { Log } from "../../base/log.ts";
import type { CallContext } from "../sdk/context.ts";
import { mcpPlugin } from "./mcp-plugin.ts";

const SERVER = join(import.meta.dirname, "../../../test/support/tools-server.mjs");
const log = new Log("error", () => {});

describe("mcpPlugin()", () => {
  it("offers a server's tools under their names, and calls them", async () => {
    await using home = await mkdtempDisposable(join(tmpdir(), "trunkline-wrapped-"));
    const [tools, record] = [join(home.path, "tools.json"), join(home.path, "record")];
    const annotations = { idempotentHint: true };
    await writeFile(tools, JSON.stringify([{ name: "hello" }, { name: "again", annotations }]));
    const args = [SERVER, tools, record];
    // Whoever kills it leaves nothing: it has nothing on disk.
    const temporary = join(home.path, "temporary");
    await mkdir(temporary);
    const before = tmpdir();
    process.env.TMPDIR = temporary;
    const options = { id: "mcp.hello", command: process.execPath, args, env: {}, log };
    const parts = await mcpPlugin(options);
    try {
      const { id, provides_tools: provided } = parts.manifest;
      assert.deepEqual([id, provided], ["mcp.hello", ["hello", "again"]]);
      assert.deepEqual(parts.tools.get("again")?.definition.annotations, annotations);
      const context = { signal: new AbortController().signal, caller: "x" } as CallContext;
      const result = await parts.tools.get("hello")?.call?.({ a: 1 }, context);
      assert.deepEqual(result, { content: [{ type: "text", text: '{"a":1}' }] });
      assert.equal(await readFile(record, "utf8"), "hello\n");
      assert.deepEqual(await parts.health?.(), { status: "healthy", message: "" });
      assert.deepEqual(await readdir(temporary), []);
    } finally {
      await parts.shutdown?.();
      process.env.TMPDIR = before;
    }
  });

  it("follows the server when its tools change", async () => {
    await using home = await mkdtempDisposable(join(tmpdir(), "trunkline-wrapped-"));
    const tools = join(home.path, "tools.json");
    await writeFile(tools, JSON.stringify([{ name: "add_tool" }]));
    const args = [SERVER, tools, join(home.path, "record")];
    const options = { id: "mcp.hello", command: process.execPath, args, env: {}, log };
    const parts = await mcpPlugin(options);
    try {
      const changed = new Promise<void>((resolve) => parts.onChange?.(resolve));
      const context = { signal: new AbortController().signal, caller: "x" } as CallContext;
      await parts.tools.get("add_tool")?.call?.({ name: "later" }, context);
      await changed;
      assert.deepEqual(parts.manifest.provides_tools, ["add_tool", "later"]);
      const result = await parts.tools.get("later")?.call?.({ a: 1 }, context);
      assert.deepEqual(result, { content: [{ type: "text", text: '{"a":1}' }] });
    } finally {
      await parts.shutdown?.();
    }
  });

  it("throws why a program is no MCP server, and leaves nothing of it", async () => {
    const args = ["--eval", "process.stderr.write('no server\\n'); process.exit(3)"];
    const options = { id: "mcp.none", command: process.execPath, args, env: {}, log };
    await assert.rejects(mcpPlugin(options), { code: "unavailable", message: /no server/ });
  });
});
