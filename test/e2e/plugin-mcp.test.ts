import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";

import { Bridge, BusHome } from "../support/bus-home.ts";
import { Program } from "../support/program.ts";

const ROOT = join(import.meta.dirname, "../..");
const BUILT = join(ROOT, "dist/trunkline.js");
const SERVER = join(ROOT, "test/support/tools-server.mjs");

describe("an MCP server as a plugin, and a plugin as an MCP server", { timeout: 600_000 }, () => {
  it("both take one line, and lead back to each other", async () => {
    await using home = new BusHome();
    const tools = join(home.path, "tools.json");
    writeFileSync(tools, JSON.stringify([{ name: "hello", description: "Says hello" }]));
    const server = [process.execPath, SERVER, tools, home.record];
    // The MCP server is wrapped as a plugin, and that plugin is served as an MCP server again.
    const words = [BUILT, "--id", "mcp.hello", "--", "plugin", "wrap", "--id", "mcp.hello", "--"];
    const given = ["--data", home.data, ...words, ...server];
    await using bridge = new Bridge(new Program(["plugin", "mcp", ...given]));
    const { result } = await bridge.ask("tools/list");
    assert.deepEqual(
      result?.tools?.map(({ name }) => name),
      ["hello"],
      bridge.program.stderr,
    );
    const called = await bridge.call("hello", { to: "Ada" });
    assert.equal(called.result?.content?.[0]?.text, '{"to":"Ada"}');
    assert.deepEqual(home.recorded(), ["hello"]);
  });

  it("says why a server cannot be a plugin", async () => {
    await using home = new BusHome();
    const given = ["--data", home.data, "--", process.execPath, "--version"];
    await using program = new Program(["plugin", "wrap", ...given, "--manifest"]);
    program.child.stdin.end();
    assert.equal(await program.exit, 1);
    assert.match(program.stderr, /Cannot use '\S+' as an MCP server: /);
  });
});
