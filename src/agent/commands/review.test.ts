import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { AgentRig } from "../../../test/agent/agent-rig.ts";

describe("/review", () => {
  it("warns about changes that people do not mean to commit", async () => {
    await using rig = new AgentRig({ files: { "a.ts": "const a = 1;\n" } });
    rig.commitAll();
    rig.write("a.ts", "const a = 1;\nconsole.log(a);\n");
    rig.write("b.ts", `// FIXME\nconst token = "ghp_${"a1".repeat(18)}";\n`);
    const { turn } = await rig.turn("/review");
    assert.match(turn.text, /a\.ts:2: debugging code/);
    assert.match(turn.text, /b\.ts:1: a TODO comment/);
    assert.match(turn.text, /b\.ts:2: looks like a secret/);
    assert.doesNotMatch(turn.text, /a\.ts:1:/);
  });

  it("names a file as it is called", async () => {
    await using rig = new AgentRig({ files: { 'quo"te.ts': "const a = 1;\n" } });
    rig.commitAll();
    rig.write('quo"te.ts', "const a = 1;\nconsole.log(a);\n");
    const { turn } = await rig.turn("/review");
    assert.match(turn.text, /^quo"te\.ts:2: debugging code/m);
  });
});
