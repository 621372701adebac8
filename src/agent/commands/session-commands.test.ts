import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { AgentRig } from "../../../test/agent/agent-rig.ts";
import { FakeLlm } from "../../../test/agent/fake-llm.ts";

describe("/mode and /model", () => {
  it("show the choices and change the session's, also for the next time it is opened", async () => {
    await using llm = await FakeLlm.start([{ content: "Hi." }]);
    await using rig = new AgentRig({ llm });
    let memory: unknown;
    const remember = async (value: unknown): Promise<void> => void (memory = value);
    const session = await rig.open({ remember });
    const ask = async (prompt: string) => (await rig.turnOf(session, prompt)).turn.text;
    assert.match(await ask("/mode"), /\*\*in use\*\* `build`.*\n- `auto-accept`/);
    assert.match(await ask("/mode Ask"), /now `ask`/);
    assert.match(await ask("/model offline"), /now `offline`/);
    assert.match(await ask("/model"), /\*\*in use\*\* `offline`/);
    assert.equal(session.settings.modes?.currentModeId, "ask");
    const kinds = rig.updates.map(({ sessionUpdate }) => sessionUpdate);
    assert.ok(kinds.includes("current_mode_update") && kinds.includes("config_option_update"));
    assert.equal(llm.requests.length, 0);

    const later = await rig.open({ memory, chosen: { modeId: "architect" }, remember });
    assert.equal(later.settings.modes?.currentModeId, "ask");
    assert.equal(later.settings.models?.currentModelId, "offline");
    await later.setMode?.("build");
    assert.deepEqual(memory, { modelId: "offline" }, "the editor's choice is the newer one");
  });

  it("say what there is if the choice does not exist", async () => {
    await using rig = new AgentRig();
    assert.match((await rig.turn("/mode wild")).turn.text, /There are: build, auto-accept/);
    assert.match((await rig.turn("/model gpt-9")).turn.text, /no such model/);
  });
});

describe("a session", () => {
  it("knows which prompts are commands that need no model", async () => {
    await using rig = new AgentRig({ files: { ".claude/commands/own.md": "Do." } });
    const session = await rig.open();
    const texts = ["/help", "/Mode ask", "/own", "/compact", "/unknown", "help", "/usr/bin"];
    const free = texts.filter((text) => session.isCommand?.([{ type: "text", text }]));
    assert.deepEqual(free, ["/help", "/Mode ask"]);
  });
});

describe("/compact", () => {
  it("replaces the beginning of the conversation by a summary", async () => {
    await using llm = await FakeLlm.start([
      { content: "The answer is 42." },
      { content: "They asked for the answer." },
      { content: "Go on." },
    ]);
    await using rig = new AgentRig({ llm });
    const session = await rig.open();
    await rig.turnOf(session, "a question of some length");
    const { turn, end } = await rig.turnOf(session, "/compact");
    assert.equal(end.stopReason, "end_turn");
    assert.match(turn.text, /was compacted; its beginning was replaced by a summary/);
    await rig.turnOf(session, "next");
    assert.match(llm.seen(2), /They asked for the answer/);
    assert.doesNotMatch(llm.seen(2), /a question of some length/);
  });

  it("says why it cannot", async () => {
    await using rig = new AgentRig();
    assert.match((await rig.turn("/compact")).turn.text, /no model is in use/);
    await using llm = await FakeLlm.start([{ content: "Hi." }]);
    await using other = new AgentRig({ llm });
    assert.match((await other.turn("/compact")).turn.text, /nothing to compact yet/);
  });
});
