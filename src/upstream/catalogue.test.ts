import assert from "node:assert/strict";
import { mkdtempDisposable } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";

import type { ToolResult } from "../tool/tool.ts";
import { HouseOfUpstreams } from "../../test/upstream/house-of-upstreams.ts";
import { SampleContext } from "../../test/upstream/sample-context.ts";
import { LEGACY, Scripts } from "../../test/upstream/scripted-server.ts";
import { covers } from "../../test/support/requirement.ts";

async function callText(house: HouseOfUpstreams, name: string, args = {}): Promise<string> {
  const result = await house.offer.tools.call(name, args, new SampleContext());
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
      await using house = new HouseOfUpstreams({ open: scripts.open, folder: folder.path });
      await house.upstreams.configure(table);
      assert.equal(scripts.started.length, 0);
      await house.upstreams.known();
      assert.deepEqual(house.toolNames, ["echo"]);
      assert.equal(scripts.started.length, 1);
    }
    const scripts = new Scripts({ a: LEGACY });
    await using house = new HouseOfUpstreams({ open: scripts.open, folder: folder.path });
    await house.upstreams.configure(table);
    assert.equal(house.upstreams.known(), undefined);
    assert.deepEqual(house.toolNames, ["echo"]);
    assert.equal(scripts.started.length, 0);
    assert.equal(house.upstreams.status()[0]?.state, "idle");
    assert.equal(await callText(house, "echo", { text: "hi" }), "hi");
    // The handshake that it is known to have.
    assert.equal(scripts.of("a")[0]?.heard[0]?.["method"], "initialize");
  });

  it("again if it was remembered as another program", async () => {
    await using folder = await mkdtempDisposable(join(tmpdir(), "trunkline-"));
    {
      const scripts = new Scripts({ a: LEGACY });
      await using house = new HouseOfUpstreams({ open: scripts.open, folder: folder.path });
      await house.configure({ name: { command: "a" } });
    }
    const scripts = new Scripts({ b: LEGACY });
    await using house = new HouseOfUpstreams({ open: scripts.open, folder: folder.path });
    await house.upstreams.configure({ name: { command: "b" } });
    assert.deepEqual(house.toolNames, []);
  });
});
