import assert from "node:assert/strict";
import { join } from "node:path";
import { describe, it } from "node:test";

import { AgentRig } from "../../../test/agent/agent-rig.ts";
import type { ReviewComments } from "./session-commands.ts";

describe("/fix-comments", () => {
  it("applies suggestions, and reports the outcome of each comment", async () => {
    await using rig = new AgentRig({ files: { "a.ts": "let a = 1;\n" } });
    const path = join(rig.cwd, "a.ts");
    const done: string[] = [];
    const reviews: ReviewComments = {
      hasOpen: async () => true,
      open: async () => [
        { id: "r1", path, line: 1, comment: "use const", hasSuggestion: true },
        { id: "r2", path, line: 1, comment: "why?", hasSuggestion: false },
        { id: "r3", path, comment: "gone", hasSuggestion: true },
      ],
      suggested: async (_, id) => {
        if (id === "r3") throw new Error("the lines are gone");
        return { path, text: "const a = 1;\n" };
      },
      done: async (_, id) => void done.push(id),
    };
    await using agent = new AgentRig({ reviews, data: rig.data });
    const session = await agent.open({ cwd: rig.cwd });
    const { turn } = await agent.turnOf(session, "/fix-comments");
    assert.equal(rig.read("a.ts"), "const a = 1;\n");
    assert.match(turn.text, /Applied 1 of 3\./);
    assert.match(turn.text, /Not applied: why\? \(r2\): it has no suggestion/);
    assert.match(turn.text, /Not applied: gone \(r3\): .*the lines are gone/);
    assert.deepEqual(done, ["r1"]);
    const plans = turn.ofKind("plan").map(({ entries }) => entries as { status: string }[]);
    assert.deepEqual(
      plans.at(-1)?.map(({ status }) => status),
      ["completed", "completed", "completed"],
    );
    await agent.turnOf(session, "/undo");
    assert.equal(rig.read("a.ts"), "let a = 1;\n");
  });
});
