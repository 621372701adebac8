import { describe, it } from "node:test";
import assert from "node:assert/strict";

import { reviewComments } from "./built-in-agent.ts";
import { ReviewCommands } from "../../review/review-commands.ts";
import { AgentRig } from "../../../test/agent/agent-rig.ts";
import { REJECT } from "../../../test/agent/sample-turn.ts";

const SOURCE = { by: "ada", source: "test" };

describe("/fix-comments, with real reviews", () => {
  it("applies a suggestion whose lines have moved, and tells the reviewer", async () => {
    await using home = new AgentRig();
    const reviews = reviewComments(home.data);
    await using rig = new AgentRig({ reviews, files: { "a.ts": "one\ntwo\nthree\n" } });
    rig.commitAll();
    using commands = await ReviewCommands.open(home.data, rig.cwd);
    const fits = await commands.add({
      ...SOURCE,
      file: "a.ts",
      line: 2,
      comment: "a digit",
      suggestion: "2",
    });
    const vague = await commands.add({ ...SOURCE, file: "a.ts", line: 1, comment: "why?" });
    const gone = await commands.add({
      ...SOURCE,
      file: "a.ts",
      line: 3,
      comment: "short",
      suggestion: "3",
    });
    rig.write("a.ts", "zero\none\ntwo\nchanged\n");

    const { turn: refused } = await rig.turn({ prompt: "/fix-comments", decide: () => REJECT });
    assert.match(refused.text, /Applied 0 of 3/);
    assert.equal(rig.read("a.ts"), "zero\none\ntwo\nchanged\n");

    const { turn } = await rig.turn("/fix-comments");
    assert.equal(rig.read("a.ts"), "zero\none\n2\nchanged\n");
    assert.match(turn.text, /Applied 1 of 3/);
    assert.equal((await commands.show(fits.id)).state, "proposed");
    assert.equal((await commands.show(vague.id)).state, "open");
    assert.equal((await commands.show(gone.id)).state, "open");
    assert.match((await rig.turn("/review")).turn.text, /Open review comments:\n.*why\?/);
  });
});
