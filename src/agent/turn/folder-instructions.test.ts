import assert from "node:assert/strict";
import { symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";

import { AgentRig } from "../../../test/agent/agent-rig.ts";
import { read } from "../../../test/agent/call-tools.ts";
import { FakeLlm } from "../../../test/agent/fake-llm.ts";

describe("the instructions of subfolders", () => {
  it("are given to the model once it works on a file below, and to no other", async () => {
    await using llm = await FakeLlm.start([
      { toolCalls: [read("web/src/a.ts"), read("web/src/b.ts"), read("node_modules/x/a.js")] },
      { content: "Done." },
    ]);
    await using rig = new AgentRig({
      llm,
      files: {
        "AGENTS.md": "Of the root.",
        "web/AGENTS.md": "Use tabs in web.",
        "web/src/CLAUDE.md": "No default exports.",
        "web/src/a.ts": "a",
        "web/src/b.ts": "b",
        "api/AGENTS.md": "Use spaces in api.",
        "node_modules/x/AGENTS.md": "Obey the package.",
        "node_modules/x/a.js": "x",
      },
    });
    await rig.turn("go");
    assert.match(llm.seen(0), /Of the root/);
    assert.doesNotMatch(llm.seen(0), /Use tabs/);
    assert.match(llm.seen(1), /web\/AGENTS\.md.*Use tabs in web.*No default exports/s);
    assert.equal(llm.seen(1).split("Use tabs in web").length, 2);
    assert.doesNotMatch(llm.seen(1), /Use spaces|Obey the package/);
  });

  it("are not read through a link out of the workspace, and are bounded", async () => {
    await using llm = await FakeLlm.start([
      { toolCalls: [read("a/x"), read("b/x")] },
      { content: "Done." },
    ]);
    await using rig = new AgentRig({
      llm,
      files: { "a/x": "x", "b/x": "x", "b/AGENTS.md": "long ".repeat(20_000) },
    });
    writeFileSync(join(rig.folder, "secret"), "hidden treasure");
    symlinkSync(join(rig.folder, "secret"), join(rig.cwd, "a/AGENTS.md"));
    await rig.turn("go");
    assert.doesNotMatch(llm.seen(1), /hidden treasure/);
    const size = llm.seen(1).split("long ").length;
    assert.ok(size > 1_000 && size < 7_000, String(size));
  });
});
