import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { AgentRig } from "../../../test/agent/agent-rig.ts";

describe("/init", () => {
  it("writes facts about the project, and leaves an existing file alone", async () => {
    await using rig = new AgentRig({ files: { Makefile: "test:\n\ttrue\n", "src/a.c": "" } });
    const session = await rig.open();
    await rig.turnOf(session, "/init");
    assert.match(rig.read("AGENTS.md"), /- Test: `make test`/);
    assert.match(rig.read("AGENTS.md"), /- `src\/`/);
    assert.match((await rig.turnOf(session, "/init")).turn.text, /already/);
  });
});
