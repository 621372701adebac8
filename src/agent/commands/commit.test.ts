import assert from "node:assert/strict";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";

import { AgentRig } from "../../../test/agent/agent-rig.ts";
import { FakeLlm } from "../../../test/agent/fake-llm.ts";
import { REJECT } from "../../../test/agent/sample-turn.ts";

describe("/diff and /commit", () => {
  it("show and commit the changes", async () => {
    await using rig = new AgentRig({ files: { "a.txt": "one\n", "sub/b.txt": "b\n" } });
    rig.commitAll();
    rig.write("a.txt", "two\n");
    rig.write("new.txt", "n\n");
    const session = await rig.open();
    const { turn: shown } = await rig.turnOf(session, "/diff");
    assert.match(shown.text, /M a\.txt\n\?\? new\.txt/);
    const content = shown.ofKind("tool_call_update").at(-1)?.content as {
      oldText: string | null;
    }[];
    assert.deepEqual(
      content.map(({ oldText }) => oldText),
      ["one\n", null],
    );
    const { turn } = await rig.turnOf(session, "/commit Count further");
    assert.match(String(turn.asked[0]?.toolCall.title), /a\.txt and new\.txt: Count further/);
    assert.equal(rig.git("log", "-1", "--format=%s").trim(), "Count further");
    assert.equal(rig.git("status", "--short"), "");
    assert.match((await rig.turnOf(session, "/commit")).turn.text, /nothing to commit/);
    assert.match((await rig.turnOf(session, "/diff")).turn.text, /Nothing has changed/);
  });

  it("commit only staged changes if there are any, and nothing if permission is refused", async () => {
    await using rig = new AgentRig({ files: { "a.txt": "one\n", "b.txt": "one\n" } });
    rig.commitAll();
    rig.write("a.txt", "two\n");
    rig.write("b.txt", "two\n");
    rig.git("add", "a.txt");
    await rig.turn({ prompt: "/commit no", decide: () => REJECT });
    assert.equal(rig.git("log", "--format=%s").trim(), "start");
    await rig.turn("/commit");
    assert.equal(rig.git("log", "-1", "--format=%s").trim(), "Change a.txt");
    assert.equal(rig.git("status", "--short").trim(), "M b.txt");
  });

  it("make no submodule of a repository that a command has left in the folder", async () => {
    await using rig = new AgentRig({ files: { "a.txt": "one\n", b: "file\n" } });
    rig.commitAll();
    const plant = (name: string): void => {
      rig.git("init", "--quiet", name);
      rig.git("-C", name, "commit", "--quiet", "--allow-empty", "-m", "planted");
    };
    rig.write("a.txt", "two\n");
    plant("evil");
    const { turn } = await rig.turn("/commit");
    assert.match(turn.text, /would make a submodule of 'evil', a repository of its own/);
    rmSync(join(rig.cwd, "evil"), { recursive: true });
    rmSync(join(rig.cwd, "b"));
    plant("b");
    assert.match((await rig.turn("/commit")).turn.text, /would make a submodule of 'b'/);
    assert.doesNotMatch(rig.git("ls-files", "--stage"), /^160000/m);
    rig.git("add", "b");
    assert.match((await rig.turn("/commit")).turn.text, /would make a submodule of 'b'/);
    assert.equal(rig.git("log", "--format=%s").trim(), "start");
  });

  it("commit with a message that the model writes from what is staged, if there is a model", async () => {
    const message = "Say two\n\nOne was not enough.";
    await using llm = await FakeLlm.start([{ content: `\`\`\`\n${message}\n\`\`\`` }]);
    await using rig = new AgentRig({ llm, files: { "a.txt": "one\n", "b.txt": "one\n" } });
    rig.commitAll();
    rig.write("a.txt", `two\nkey = "ghp_${"a1".repeat(18)}"\n`);
    rig.write("b.txt", "other\n");
    rig.git("add", "a.txt");
    const { turn } = await rig.turn("/commit");
    assert.match(String(turn.asked[0]?.toolCall.title), /a\.txt: Say two/);
    assert.equal(rig.git("log", "-1", "--format=%B").trim(), message);
    const asked = JSON.stringify(llm.requests[0]?.messages);
    assert.match(asked, /\+two/);
    assert.match(asked, /start/, "the last commits show the manner");
    assert.doesNotMatch(asked, /other|ghp_/);
  });

  it("report an error outside of a repository", async () => {
    await using rig = new AgentRig();
    for (const command of ["/diff", "/commit", "/review"]) {
      const { turn } = await rig.turn(command);
      assert.match(turn.text, /not in a git repository. `git init` makes it one/, command);
    }
  });
});
