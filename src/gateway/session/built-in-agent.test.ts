import { describe, it } from "node:test";
import assert from "node:assert/strict";

import { reviewComments } from "./built-in-agent.ts";
import { JUGGLER_TOOLS } from "../../identity/tools/definitions.ts";
import { ReviewCommands } from "../../review/review-commands.ts";
import { REVIEW_TOOLS } from "../../review/tool-definitions.ts";
import { Offer } from "../../tool/offer/offer.ts";
import { textResult } from "../../tool/tool.ts";
import { AgentRig } from "../../../test/agent/agent-rig.ts";
import { FakeLlm } from "../../../test/agent/fake-llm.ts";
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

describe("the tools that the model of the built-in agent is sent", () => {
  const offer = new Offer();
  for (const definition of [...JUGGLER_TOOLS, ...REVIEW_TOOLS]) {
    offer.tools.add({ definition, call: () => textResult("Called.") });
  }
  const sizes = (llm: FakeLlm): number[] => {
    return llm.requests.map(({ tools }) => JSON.stringify(tools).length);
  };

  it("are few until it asks for more of them", async () => {
    await using llm = await FakeLlm.start([
      { content: "Hi." },
      { toolCalls: [{ name: "more_tools", arguments: { groups: ["identities", "reviews"] } }] },
      { content: "Done." },
    ]);
    await using rig = new AgentRig({ llm, offer: async () => offer });
    const session = await rig.open();
    await rig.turnOf(session, "rename this function");
    assert.ok(
      !llm.tools.some((name) => /^(?:juggler|review|check)_/.test(name)),
      llm.tools.join(" "),
    );
    await rig.turnOf(session, "go on");
    assert.deepEqual(
      [...JUGGLER_TOOLS, ...REVIEW_TOOLS].map(({ name }) => name).toSorted(),
      llm.tools.filter((name) => /^(?:juggler|review|check)_/.test(name)).toSorted(),
    );
    const [few = 0, , all = 0] = sizes(llm);
    assert.ok(few < all / 2, `${few} of ${all} bytes`);
  });

  it("include those for reviews if there are open comments, and those that a prompt is about", async () => {
    await using llm = await FakeLlm.start([{ content: "Hi." }]);
    await using home = new AgentRig();
    const reviews = reviewComments(home.data);
    const parts = { llm, reviews, offer: async () => offer };
    await using rig = new AgentRig({ ...parts, files: { "a.ts": "one\n" } });
    rig.commitAll();
    await rig.turn("Which identity commits here?");
    assert.ok(llm.tools.includes("juggler_status") && !llm.tools.includes("review_list"));
    using commands = await ReviewCommands.open(home.data, rig.cwd);
    await commands.add({ ...SOURCE, file: "a.ts", line: 1, comment: "why?" });
    await rig.turn("go");
    assert.ok(!llm.tools.includes("juggler_status") && llm.tools.includes("review_list"));
  });
});
