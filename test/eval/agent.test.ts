// Long: thirty tasks of the agent, each in a repository of its own.
import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { AgentRig } from "../agent/agent-rig.ts";
import { FakeLlm } from "../agent/fake-llm.ts";
import { prepare, problemsOf } from "./judge.ts";
import { TASKS } from "./tasks.ts";

/** Characters of a token, roughly. */
const PER_TOKEN = 4;

describe("the built-in agent does the tasks of the evaluation", () => {
  it("of which there are 30, with different names", () => {
    assert.equal(new Set(TASKS.map(({ name }) => name)).size, 30);
  });

  for (const task of TASKS) {
    it(task.name, async (test) => {
      const script = task.script.map((toolCalls) => ({ toolCalls }));
      await using llm = await FakeLlm.start([...script, { content: "Done." }]);
      await using rig = new AgentRig({ llm });
      const start = prepare(task, rig.cwd);
      const session = await rig.open();
      await session.setMode?.("auto-accept");
      let isLeft = task.person !== undefined;
      const { turn, end } = await rig.turnOf(session, {
        prompt: task.prompt,
        onUpdate: ({ status }) => {
          if (!isLeft || status !== "completed" || task.person === undefined) return;
          isLeft = false;
          const { file, change } = task.person;
          rig.write(file, change(rig.read(file)));
        },
      });
      assert.equal(end.stopReason, "end_turn");
      assert.deepEqual(problemsOf(task, rig.cwd, start), []);
      const failed = turn.ends.filter((each) => each !== "completed");
      assert.equal(failed.length, task.failures ?? 0, llm.seen(-1));
      // The number of requests and calls is that of the script: nothing is asked twice.
      assert.equal(llm.requests.length, task.script.length + 1);
      assert.equal(turn.ends.length, task.script.flat().length);
      const tokens = Math.round(JSON.stringify(llm.requests).length / PER_TOKEN);
      test.diagnostic(
        `${llm.requests.length} requests, ${turn.ends.length} calls, ${tokens} tokens`,
      );
      assert.ok(tokens < 8_000 * llm.requests.length, `${tokens} tokens`);
    });
  }
});
