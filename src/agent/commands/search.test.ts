import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { AgentRig } from "../../../test/agent/agent-rig.ts";

describe("/search", () => {
  it("finds text, with locations, in files that git does not ignore", async () => {
    const files = {
      "src/a.ts": "const Foo = 1;\nfoo();\n",
      "b.log": "foo\n",
      ".gitignore": "*.log\n",
    };
    await using rig = new AgentRig({ files });
    rig.commitAll();
    const { turn } = await rig.turn("/search foo");
    assert.match(turn.text, /src\/a\.ts:1: const Foo = 1;\nsrc\/a\.ts:2: foo\(\);/);
    assert.doesNotMatch(turn.text, /b\.log/);
    const done = turn.ofKind("tool_call_update").at(-1);
    assert.deepEqual(((done?.locations ?? []) as { line: number }[])[1], {
      path: `${rig.cwd}/src/a.ts`,
      line: 2,
    });
  });

  it("accepts regular expressions, reports invalid ones, and finds separate words", async () => {
    await using rig = new AgentRig({
      files: { "a.txt": "the quick\nbrown fox\n", "b.txt": "quick\n" },
    });
    assert.match((await rig.turn("/search /q.i+ck/")).turn.text, /a\.txt:1/);
    assert.match((await rig.turn("/search /(/")).turn.text, /Cannot search for '\('/);
    const { turn } = await rig.turn("/search fox quick");
    assert.match(turn.text, /^```\na\.txt:1/);
    assert.match((await rig.turn("/search nowhere")).turn.text, /Nothing found/);
    assert.match((await rig.turn("/search")).turn.text, /Say what to find/);
  });
});
