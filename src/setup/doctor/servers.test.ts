import assert from "node:assert/strict";
import { join } from "node:path";
import { describe, it } from "node:test";

import { SampleAllowance } from "../../../test/samples/sample-allowance.ts";
import { SampleCommandLine } from "../../../test/samples/sample-command-line.ts";
import { SampleHome } from "../../../test/samples/sample-home.ts";
import type { CheckResult } from "./check.ts";
import { checkServers } from "./settings-checks.ts";

const SUPPORT = join(import.meta.dirname, "../../../test/support");

/** The findings about servers that are configured so. */
async function check(mcpServers: object, patience?: number): Promise<readonly CheckResult[]> {
  await using home = await SampleHome.create();
  await using allowance = new SampleAllowance(patience);
  await home.write(home.userFile, JSON.stringify({ mcpServers }));
  return await checkServers((await home.load()).config, allowance);
}

describe("checkServers()", () => {
  it("checks nothing if no server is configured", async () => {
    const [found] = await check({});
    assert.deepEqual(found, { state: "ok", says: "none configured" });
  });

  it("distinguishes a server that works from one that exits, and from one that is missing", async () => {
    const findings = await check({
      notes: { command: process.execPath, args: [join(SUPPORT, "notes-server.mjs")] },
      ends: { command: process.execPath, args: ["--eval", "process.exit(3)"] },
      missing: { command: "/nowhere/no-such-program" },
    });
    const stateOf = (name: string) => findings.find(({ what }) => what?.includes(`'${name}'`));
    assert.equal(stateOf("notes")?.state, "ok");
    for (const name of ["ends", "missing"]) {
      assert.equal(stateOf(name)?.state, "fail");
      assert.match(stateOf(name)?.next ?? "", /remove it from `mcpServers`/);
    }
  });

  it("warns about a server that takes long, with what it said last, and waits for no more", async () => {
    // A shell says it at once; a Node may take as long to start on a busy machine.
    const slow = { command: "sh", args: ["-c", "echo fetching >&2; exec sleep 60"] };
    const [found] = await check({ slow }, 2_000);
    assert.equal(found?.state, "warn");
    assert.match(found?.says ?? "", /still starting after 1\.5 s; its last output: fetching/);
    assert.match(found?.next ?? "", /trunkline doctor --deep/);
  });

  it("has three seconds for servers, whatever the other checks take", async () => {
    await using line = await SampleCommandLine.create({
      mcpServers: { slow: { command: "sleep", args: ["600"] } },
    });
    const { out } = await line.run("doctor", "--json");
    const { findings } = JSON.parse(out) as { findings: readonly CheckResult[] };
    const slow = findings.find(({ what }) => what === "MCP server 'slow'");
    assert.match(slow?.says ?? "", /^still starting after 3 s/);
  });
});
