import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { AgentRig } from "../../../test/agent/agent-rig.ts";

describe("without a language model", () => {
  it("free text is answered with the list of commands and how to get a model", async () => {
    await using rig = new AgentRig();
    const { turn, end } = await rig.turn("please fix my code");
    assert.equal(end.stopReason, "end_turn");
    assert.match(turn.text, /without a language model/);
    assert.match(turn.text, /`\/fix-comments \[ID …\]`/);
    assert.match(turn.text, /ANTHROPIC_API_KEY/);
  });

  it("commands are announced when a session opens", async () => {
    await using rig = new AgentRig();
    await rig.open();
    const [update] = rig.updates;
    assert.equal(update?.sessionUpdate, "available_commands_update");
    const names = ((update?.availableCommands ?? []) as { name: string }[]).map(({ name }) => name);
    for (const name of ["fix-comments", "search", "review", "test", "format", "init"]) {
      assert.ok(names.includes(name), name);
    }
    for (const name of ["diff", "commit", "undo", "help"]) assert.ok(names.includes(name), name);
  });

  it("an unknown command is explained, and a path is not treated as a command", async () => {
    await using rig = new AgentRig();
    const { turn } = await rig.turn("/serach foo");
    assert.match(turn.text, /There is no command `\/serach`. Did you mean `\/search`\?/);
    const { turn: path } = await rig.turn("/usr/bin/env is what?");
    assert.match(path.text, /cannot understand free text/);
  });
});
