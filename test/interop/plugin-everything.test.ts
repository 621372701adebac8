import assert from "node:assert/strict";
import { join } from "node:path";
import { describe, it } from "node:test";

import { Program } from "../support/program.ts";
import { EVERYTHING, everythingIsMissing } from "../upstream/everything.ts";

const BUILT = join(import.meta.dirname, "../../dist/trunkline.js");
const missing = await everythingIsMissing();

describe("the reference MCP server as a plugin", { timeout: 600_000, skip: missing }, () => {
  it("keeps the rules of the bus, and answers calls", async () => {
    const { command, args } = EVERYTHING;
    const wrapped = [process.execPath, BUILT, "plugin", "wrap", "--", command, ...args, "stdio"];
    const calls = ["--tool", "echo", "--args", '{"message":"hello"}', "--timeout", "120"];
    const given = ["--json", ...calls, "--", ...wrapped];
    await using program = new Program(["plugin", "test", ...given]);
    program.child.stdin.end();
    const code = await program.exit;
    const out = program.lines.join("\n");
    assert.notEqual(out, "", program.stderr);
    const { rules } = JSON.parse(out) as { rules: { rule: string; outcome: string }[] };
    assert.deepEqual(
      rules.filter(({ outcome }) => outcome === "failed"),
      [],
    );
    assert.equal(code, 0);
    const passed = rules.filter(({ outcome }) => outcome === "passed").map(({ rule }) => rule);
    for (const rule of ["tools.call", "tools.arguments", "plugin.shutdown"]) {
      assert.ok(passed.includes(rule), rule);
    }
  });
});
