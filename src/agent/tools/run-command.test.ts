import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { call } from "../../../test/agent/call-tools.ts";

describe("run_command", () => {
  it("keeps the beginning and the end of endless output", async () => {
    const command = "echo first; yes filler | head -c 5000000; echo last; exit 4";
    const { answers } = await call([{ name: "run_command", arguments: { command } }]);
    assert.match(answers[0] ?? "", /^first\n/);
    assert.match(answers[0] ?? "", /characters left out/);
    assert.match(answers[0] ?? "", /last\n\(exit code 4\)$/);
    assert.ok((answers[0]?.length ?? Infinity) < 40_000);
  });

  it("gives a command empty input, and leaves no process running", async () => {
    const command = "cat; nohup sleep 91 >/dev/null 2>&1 & echo done";
    const { answers } = await call([{ name: "run_command", arguments: { command } }]);
    assert.match(answers[0] ?? "", /done\n\(exit code 0\)/);
  });

  it("asks with the whole command, and 'always' covers only that command", async () => {
    const command = "rm -rf build";
    const { turn } = await call([{ name: "run_command", arguments: { command } }]);
    assert.equal(turn.asked[0]?.toolCall.title, command);
    assert.equal(turn.asked[0]?.subject, `run ${command}`);
  });
});
