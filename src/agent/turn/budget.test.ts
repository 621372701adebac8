import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";

import type { Amount } from "../../base/limit/budget.ts";
import { AgentRig } from "../../../test/agent/agent-rig.ts";
import { FakeLlm, type Scripted } from "../../../test/agent/fake-llm.ts";
import { groupEnd } from "../../../test/agent/group-end.ts";
import { AcpApp, type TestClient } from "../../../test/support/acp-app.ts";

const DAY = 24 * 60 * 60_000;
const ALLOWED = { result: { outcome: { outcome: "selected", optionId: "allow" } } };
/** Each answer of the model uses 1,000 tokens, which cost one dollar. */
const usage = { prompt_tokens: 900, completion_tokens: 100, total_tokens: 1_000 };
const cost = { "*": { input: 1_000, output: 1_000 } };

function runs(command: string): Scripted {
  return { toolCalls: [{ name: "run_command", arguments: { command } }], usage };
}

/** Would run for long, if nothing stopped it. */
const QUICK = [1, 2, 3, 4, 5, 6].map((count) => runs(`echo ${count}`));
const SLOW = [runs("echo $$ > pid; exec sleep 600")];

interface Case {
  readonly limit: number;
  readonly script: readonly Scripted[];
  /** How the turn ends. */
  readonly stopReason: string;
  readonly says: RegExp;
  /** Requests to the model until then; how many fit into a time is not known. */
  readonly requests?: number;
}

const CASES: Readonly<Record<Amount, Case>> = {
  tokens: {
    limit: 1_500,
    script: QUICK,
    stopReason: "max_tokens",
    says: /Stopped: 2,000 of 1,500 tokens of/,
    requests: 2,
  },
  cost: {
    limit: 1.5,
    script: QUICK,
    stopReason: "max_turn_requests",
    says: /Stopped: \$2\.00 of \$1\.50 of/,
    requests: 2,
  },
  // An answer of the model is a step, and so is a tool call.
  steps: {
    limit: 4,
    script: QUICK,
    stopReason: "max_turn_requests",
    says: /Stopped: 4 of 4 steps of/,
    requests: 3,
  },
  time: {
    limit: 0.5,
    script: SLOW,
    stopReason: "max_turn_requests",
    says: /Stopped: \d+ of 1 seconds of/,
  },
};

/** How the tool calls of a session ended. */
function ends({ updates }: TestClient): Map<string, string> {
  const calls = updates.filter(({ toolCallId }) => toolCallId !== undefined);
  return new Map(calls.map(({ toolCallId, status }) => [toolCallId, status]));
}

describe("the built-in agent with a budget", { timeout: 60_000 }, () => {
  for (const [amount, { limit, script, ...expected }] of Object.entries(CASES)) {
    for (const scope of ["session", "day"] as const) {
      it(`stops when the ${amount} of its ${scope} are used up, says so, and leaves nothing running`, async () => {
        let now = Date.parse("2026-03-01T12:00:00Z");
        await using llm = await FakeLlm.start([...script, { content: "It went on.", usage }]);
        await using rig = new AgentRig({ llm, cost });
        const budgets = { [scope]: { [amount]: limit }, now: () => now };
        await using app = await AcpApp.open({ agent: rig.agent, budgets });
        const client = app.connect();
        client.answer = () => ALLOWED;
        await client.initialize();
        const params = { cwd: rig.cwd, mcpServers: [] };
        const { sessionId } = await client.ask("session/new", params);
        const end = await client.prompt(String(sessionId), "go");

        assert.equal(end.stopReason, expected.stopReason);
        assert.match(client.text, expected.says);
        const { used, limit: shown } = end._meta.trunkline.budget[scope][amount];
        assert.equal(shown, limit);
        assert.ok(used >= limit, `${used} of ${limit}`);
        const requests = llm.requests.length;
        assert.equal(requests, expected.requests ?? requests);
        for (const status of ends(client).values()) assert.match(status, /^(completed|failed)$/);
        // A time may be over before the command begins.
        const pid = existsSync(join(rig.cwd, "pid")) ? Number(rig.read("pid")) : 0;
        if (pid !== 0) await groupEnd(pid);

        const whose = scope === "session" ? "sessions.budget" : "sessions.dailyBudget";
        await assert.rejects(client.prompt(String(sessionId), "go on"), (error: Error) => {
          assert.match(error.message, /^Cannot begin a turn: /);
          assert.ok(error.message.includes(`\`${whose}.${amount}\``), error.message);
          return true;
        });
        assert.equal(llm.requests.length, requests, "the model was asked nothing");
        if (scope === "session" || amount === "time") return;

        // The same session goes on the next day, and the model knows what was asked before.
        now += DAY;
        await client.prompt(String(sessionId), "go on");
        assert.match(llm.seen(requests), /go .*echo 1.*go on/s);
      });
    }
  }

  it("counts what messages of commits and summaries use", async () => {
    await using llm = await FakeLlm.start([
      { content: "Hello.", usage },
      { content: "Say two", usage },
      { content: "They said hello.", usage },
    ]);
    await using rig = new AgentRig({ llm, cost, files: { "a.txt": "one\n" } });
    rig.commitAll();
    rig.write("a.txt", "two\n");
    const budgets = { session: { tokens: 3_000 } };
    await using app = await AcpApp.open({ agent: rig.agent, budgets });
    const client = app.connect();
    client.answer = () => ALLOWED;
    await client.initialize();
    const { sessionId } = await client.ask("session/new", { cwd: rig.cwd, mcpServers: [] });
    await client.prompt(String(sessionId), "hello");
    for (const command of ["/commit", "/compact"]) {
      const end = await client.prompt(String(sessionId), command);
      assert.equal(end.usage.totalTokens, 1_000, command);
    }
    assert.equal(rig.git("log", "-1", "--format=%s").trim(), "Say two");
    assert.equal(client.updates.findLast(({ cost: spent }) => spent)?.cost.amount, 3);
    await assert.rejects(client.prompt(String(sessionId), "more"), /Cannot begin a turn: /);
    assert.equal(llm.requests.length, 3);
  });
});
