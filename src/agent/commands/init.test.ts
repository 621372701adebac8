import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { AgentRig } from "../../../test/agent/agent-rig.ts";

describe("/init", () => {
  it("writes down what is certain, and leaves a file alone that is there", async () => {
    await using rig = new AgentRig({ files: { Makefile: "test:\n\ttrue\n", "src/a.c": "" } });
    const session = await rig.open();
    await rig.turnOf(session, "/init");
    assert.match(rig.read("AGENTS.md"), /- Test: `make test`/);
    assert.match(rig.read("AGENTS.md"), /- `src\/`/);
    assert.match((await rig.turnOf(session, "/init")).turn.text, /already/);
  });
});
