import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";

import { AgentRig } from "../../../test/agent/agent-rig.ts";
import { REJECT } from "../../../test/agent/sample-turn.ts";

describe("/test and /format", () => {
  it("run the project's own command once it is allowed", async () => {
    const scripts = { test: "echo tested; exit 3", format: "echo formatted > out.txt" };
    await using rig = new AgentRig({ files: { "package.json": JSON.stringify({ scripts }) } });
    const { turn } = await rig.turn("/test");
    assert.deepEqual(turn.asked[0]?.subject, {
      action: "run",
      command: "npm test",
      folder: ".",
      sandbox: "none",
    });
    assert.match(turn.text, /tested/);
    assert.match(turn.text, /exit code 3/);
    assert.deepEqual(turn.ends, ["failed"]);
    await rig.turn({ prompt: "/format", decide: () => REJECT });
    assert.equal(existsSync(join(rig.cwd, "out.txt")), false);
    await rig.turn("/format");
    assert.equal(rig.read("out.txt"), "formatted\n");
  });

  it("say so if the project has no such command", async () => {
    await using rig = new AgentRig({ files: { "package.json": "{ broken" } });
    assert.match((await rig.turn("/test")).turn.text, /do not know how to test/);
  });
});
