import assert from "node:assert/strict";
import { mkdtempDisposable, readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";

import type { ToolResult } from "../tool/tool.ts";
import { AppWithUpstreams } from "../../test/upstream/app-with-upstreams.ts";
import { RawClient } from "../../test/upstream/raw-client.ts";
import { SampleContext } from "../../test/upstream/sample-context.ts";
import { LEGACY, Scripts } from "../../test/upstream/scripted-server.ts";
import { until } from "../../test/support/until.ts";
import { covers } from "../../test/support/requirement.ts";

async function callText(app: AppWithUpstreams, name: string, args = {}): Promise<string> {
  const result = await app.offer.tools.call(name, args, new SampleContext());
  return textOf(result);
}

function textOf(result: ToolResult): string {
  return `${result.isError === true ? "ERROR " : ""}${String(result.content[0]?.text)}`;
}

describe("Upstreams start a server", () => {
  it("when its offer is first needed, and use the remembered one the next time", async () => {
    covers("mcp.modern.remembered-era");
    await using folder = await mkdtempDisposable(join(tmpdir(), "trunkline-"));
    const table = { a: { command: "a" } };
    {
      const scripts = new Scripts({ a: LEGACY });
      await using app = new AppWithUpstreams({ open: scripts.open, folder: folder.path });
      await app.upstreams.configure(table);
      assert.equal(scripts.started.length, 0);
      await app.upstreams.known();
      assert.deepEqual(app.toolNames, ["echo"]);
      assert.equal(scripts.started.length, 1);
    }
    const scripts = new Scripts({ a: LEGACY });
    await using app = new AppWithUpstreams({ open: scripts.open, folder: folder.path });
    await app.upstreams.configure(table);
    assert.equal(app.upstreams.known(), undefined);
    assert.deepEqual(app.toolNames, ["echo"]);
    assert.equal(scripts.started.length, 0);
    assert.equal(app.upstreams.status()[0]?.state, "idle");
    assert.equal(await callText(app, "echo", { text: "hi" }), "hi");
    // The handshake that it is known to have.
    assert.equal(scripts.of("a")[0]?.heard[0]?.["method"], "initialize");
  });

  it("of a hundred only when it is called, from the second start on", async () => {
    await using folder = await mkdtempDisposable(join(tmpdir(), "trunkline-"));
    const names = Array.from({ length: 100 }, (_, at) => `s${at}`);
    const table = Object.fromEntries(names.map((name) => [name, { command: name }]));
    const all = (): Scripts => new Scripts(Object.fromEntries(names.map((name) => [name, LEGACY])));
    {
      const scripts = all();
      await using app = new AppWithUpstreams({ open: scripts.open, folder: folder.path });
      await app.configure(table);
      assert.equal(scripts.started.length, 100);
    }
    const scripts = all();
    await using app = new AppWithUpstreams({ open: scripts.open, folder: folder.path });
    await app.upstreams.configure(table);
    assert.equal(app.upstreams.known(), undefined);
    await using client = await RawClient.connect(app.door, { revision: "2025-11-25" });
    for (const [method, member, count] of [
      ["tools/list", "tools", 100],
      ["prompts/list", "prompts", 0],
      ["resources/list", "resources", 0],
    ] as const) {
      assert.equal((await client.request(method))["result"][member].length, count, method);
    }
    assert.deepEqual(scripts.started, []);
    const { result } = await client.callTool("s70_echo", { text: "hi" });
    assert.equal(result.content[0].text, "hi");
    assert.deepEqual(
      scripts.started.map(({ name }) => name),
      ["s70"],
    );
  });

  it("and remember which of its lists are known", async () => {
    await using folder = await mkdtempDisposable(join(tmpdir(), "trunkline-"));
    const initialize = () => ({
      protocolVersion: "2025-11-25",
      capabilities: { tools: {}, prompts: {}, resources: {} },
    });
    const never = () => new Promise<never>(() => {});
    const prompts = () => ({ prompts: [{ name: "ask" }] });
    {
      const script = { ...LEGACY, initialize, "prompts/list": prompts, "resources/list": never };
      const scripts = new Scripts({ a: script });
      await using app = new AppWithUpstreams({ open: scripts.open, folder: folder.path });
      await app.upstreams.configure({ a: { command: "a" } });
      void app.upstreams.known();
      await until(() => app.offer.prompts.get("ask") !== undefined);
    }
    const text = await readFile(join(folder.path, "a.json"), "utf8");
    const { catalogue } = JSON.parse(text) as { catalogue: { unknown: readonly string[] } };
    assert.deepEqual(catalogue.unknown, ["resources"]);
  });

  it("again if it was remembered as another program", async () => {
    await using folder = await mkdtempDisposable(join(tmpdir(), "trunkline-"));
    {
      const scripts = new Scripts({ a: LEGACY });
      await using app = new AppWithUpstreams({ open: scripts.open, folder: folder.path });
      await app.configure({ name: { command: "a" } });
    }
    const scripts = new Scripts({ b: LEGACY });
    await using app = new AppWithUpstreams({ open: scripts.open, folder: folder.path });
    await app.upstreams.configure({ name: { command: "b" } });
    assert.deepEqual(app.toolNames, []);
  });

  it("again if it ended before all of its lists had come", async () => {
    await using folder = await mkdtempDisposable(join(tmpdir(), "trunkline-"));
    const capabilities = { tools: {}, resources: {} };
    const initialize = () => ({ protocolVersion: "2025-11-25", capabilities });
    const notes = { uri: "notes://all", name: "notes" };
    {
      const never = () => new Promise<never>(() => {});
      const script = { ...LEGACY, initialize, "resources/list": never };
      const scripts = new Scripts({ a: script });
      await using app = new AppWithUpstreams({ open: scripts.open, folder: folder.path });
      await app.upstreams.configure({ a: { command: "a" } });
      void app.upstreams.known();
      await until(() => app.toolNames.includes("echo"));
    }
    const list = () => ({ resources: [notes] });
    const scripts = new Scripts({ a: { ...LEGACY, initialize, "resources/list": list } });
    await using app = new AppWithUpstreams({ open: scripts.open, folder: folder.path });
    await app.upstreams.configure({ a: { command: "a" } });
    assert.deepEqual(app.toolNames, ["echo"]);
    await app.upstreams.known();
    const resources = await app.offer.resources.list();
    assert.deepEqual(
      resources.map(({ uri }) => uri),
      [notes.uri],
    );
    // From now on all of it is known.
    assert.equal(app.upstreams.known(), undefined);
  });
});
