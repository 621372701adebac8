import assert from "node:assert/strict";
import { mkdtempDisposable } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";

import { rounds } from "../support/full-run.ts";
import { readAudit } from "../support/read-audit.ts";
import { Program } from "../support/program.ts";
import { ServedGateway } from "../support/served-gateway.ts";

const KILLS = rounds({ few: 2, all: 6 });
const CALLS = 200;
/** It is refused for its arguments, which is as good a call as any, and the fastest. */
const TOOL = "juggler_switch";

const INITIALIZE = {
  protocolVersion: "2025-11-25",
  capabilities: {},
  clientInfo: { name: "test", version: "1" },
};

async function recorded(data: string): Promise<Set<unknown>> {
  const entries = await Array.fromAsync(readAudit(data));
  return new Set(entries.map((entry) => (entry.arguments as { n?: unknown }).n));
}

describe("the audit, after the process is killed", { timeout: 600_000 }, () => {
  it("has all calls that were answered on stdio", async () => {
    await using folder = await mkdtempDisposable(join(tmpdir(), "trunkline-audit-"));
    let answered = 0;
    for (let kill = 0; kill < KILLS; kill++) {
      const data = join(folder.path, `${kill}`);
      await using program = new Program(["mcp", "--data", data]);
      program.write({ jsonrpc: "2.0", id: "hello", method: "initialize", params: INITIALIZE });
      await program.answers(1);
      for (let n = 0; n < CALLS; n++) {
        const params = { name: TOOL, arguments: { n } };
        program.write({ jsonrpc: "2.0", id: n, method: "tools/call", params });
      }
      // Once with the first, then later and later: also when it writes file and answers at once.
      await program.until(({ lines }) => lines.length > 1 + kill * 20);
      program.child.kill("SIGKILL");
      await program.exit;
      const ids = program.lines.slice(1).map((line) => (JSON.parse(line) as { id: number }).id);
      answered += ids.length;
      const known = await recorded(data);
      assert.deepEqual(
        ids.filter((id) => !known.has(id)),
        [],
        "answered, and not on record",
      );
    }
    assert.ok(answered > KILLS);
  });

  it("has all calls that were answered over HTTP", async () => {
    await using folder = await mkdtempDisposable(join(tmpdir(), "trunkline-audit-"));
    for (let kill = 0; kill < KILLS; kill++) {
      const data = join(folder.path, `${kill}`);
      await using gateway = await ServedGateway.start(["--data", data]);
      const ids: number[] = [];
      const calls = Array.from({ length: 60 }, async (_, n) => {
        await gateway.mcp(n, "tools/call", { name: TOOL, arguments: { n } });
        ids.push(n);
        if (ids.length === 1 + kill * 8) gateway.program.child.kill("SIGKILL");
      });
      await Promise.allSettled(calls);
      await gateway.program.exit;
      assert.ok(ids.length > 0);
      const known = await recorded(data);
      assert.deepEqual(
        ids.filter((id) => !known.has(id)),
        [],
        "answered, and not on record",
      );
    }
  });
});
