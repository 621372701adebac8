import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { onAbort } from "../../base/abort.ts";
import type { Principal } from "../../base/principal.ts";
import { AcpApp, type TestClient } from "../../../test/support/acp-app.ts";
import { DiskFaults } from "../../../test/support/disk-faults.ts";
import { chunk, promptText } from "../../../test/support/scripted-agent.ts";
import type { Turn } from "../agent.ts";

const NOON = Date.parse("2026-03-01T12:00:00Z");
const DAY = 24 * 60 * 60_000;

/** An agent whose prompts say what it uses: "tokens 500", "steps 3", "cost 0.5", "wait". */
async function use(turn: Turn) {
  const [what = "", count = "0"] = promptText(turn).split(" ");
  if (what === "tokens") {
    const usage = { totalTokens: Number(count), inputTokens: Number(count), outputTokens: 0 };
    return { stopReason: "end_turn", usage } as const;
  }
  if (what === "context" || what === "cost") {
    const cost = what === "cost" ? { cost: { amount: Number(count), currency: "USD" } } : {};
    const used = what === "context" ? Number(count) : 0;
    await turn.update({ sessionUpdate: "usage_update", used, size: 1_000_000, ...cost });
  }
  const steps = what === "steps" ? Number(count) : 0;
  for (let step = 0; step < steps; step++) {
    const toolCallId = `${turn.id}-${step}`;
    await turn.update({ sessionUpdate: "tool_call", toolCallId, title: "T", status: "pending" });
    if (turn.signal.aborted) return { stopReason: "cancelled" } as const;
    await turn.update({ sessionUpdate: "tool_call_update", toolCallId, status: "completed" });
  }
  // On a busy machine the time may be used up already.
  if (what === "wait" && !turn.signal.aborted)
    await new Promise<void>((resolve) => onAbort(turn.signal, () => resolve()));
  if (what === "hang") await new Promise(() => {});
  return { stopReason: turn.signal.aborted ? "cancelled" : "end_turn" } as const;
}

function tokenOf(id: string, limits: NonNullable<Principal["limits"]> = {}): Principal {
  return { id: `token ${id}`, name: id, scopes: ["sessions"], limits };
}

async function join(app: AcpApp, principal?: Principal) {
  const client = app.connect({}, principal);
  await client.initialize();
  return { client, sessionId: await begin(client) };
}

async function begin(client: TestClient): Promise<string> {
  const { sessionId } = await client.ask("session/new", { cwd: "/tmp", mcpServers: [] });
  return String(sessionId);
}

describe("the budget of a session", { timeout: 30_000 }, () => {
  it("refuses a prompt once it is used up, and names the amount, the use and the setting", async () => {
    await using app = await AcpApp.open({
      script: use,
      budgets: { session: { tokens: 1_000 } },
    });
    const { client, sessionId } = await join(app);
    const first = await client.prompt(sessionId, "tokens 700");
    assert.deepEqual(first._meta.trunkline.budget, {
      session: { tokens: { used: 700, limit: 1_000 } },
    });
    await client.prompt(sessionId, "tokens 500");
    await assert.rejects(client.prompt(sessionId, "tokens 1"), {
      message:
        /Cannot begin a turn: 1,200 of 1,000 tokens of this session's budget are used\. Begin another session, or raise `sessions\.budget\.tokens`/,
    });
    const other = await begin(client);
    assert.equal((await client.prompt(other, "tokens 1")).stopReason, "end_turn");
  });

  it("is still used up after a restart", async () => {
    await using app = await AcpApp.open({
      script: use,
      budgets: { session: { tokens: 1_000 } },
    });
    const { client, sessionId } = await join(app);
    await client.prompt(sessionId, "tokens 1000");
    await app.stop();
    await app.start();
    const again = app.connect();
    await again.initialize();
    await again.ask("session/load", { sessionId, cwd: "/tmp", mcpServers: [] });
    await assert.rejects(again.prompt(sessionId, "tokens 1"), /1,000 of 1,000 tokens/);
  });

  for (const [budget, prompt, stopReason, says] of [
    [
      { steps: 3 },
      "steps 9",
      "max_turn_requests",
      /Stopped: 3 of 3 steps of this session's budget/,
    ],
    [{ tokens: 500 }, "context 600", "max_tokens", /Stopped: 600 of 500 tokens/],
    [{ cost: 0.5 }, "cost 0.75", "max_turn_requests", /Stopped: \$0\.75 of \$0\.50/],
    [{ time: 0.05 }, "wait", "max_turn_requests", /Stopped: 0 of 0 seconds/],
  ] as const) {
    it(`stops a turn that uses up its ${Object.keys(budget)[0]}, and says why`, async () => {
      await using app = await AcpApp.open({ script: use, budgets: { session: budget } });
      const { client, sessionId } = await join(app);
      const end = await client.prompt(sessionId, prompt);
      assert.equal(end.stopReason, stopReason);
      assert.match(client.text, says);
      await assert.rejects(client.prompt(sessionId, "hello"), /Cannot begin a turn/);
    });
  }

  it("lets the last step finish, and refuses the step after it", async () => {
    await using app = await AcpApp.open({ script: use, budgets: { session: { steps: 2 } } });
    const { client, sessionId } = await join(app);
    await client.prompt(sessionId, "steps 9");
    const statuses = client.updates
      .filter(({ sessionUpdate }) => sessionUpdate === "tool_call_update")
      .map(({ status }) => status);
    assert.deepEqual(statuses, ["completed", "completed", "failed"]);
  });

  it("ends the turn of an agent that does not stop", async () => {
    const budgets = { session: { time: 0.02 } };
    const sessionLimits = { cancelGrace: 20 };
    await using app = await AcpApp.open({ script: use, budgets, sessionLimits });
    const { client, sessionId } = await join(app);
    assert.equal((await client.prompt(sessionId, "hang")).stopReason, "max_turn_requests");
  });

  it("waits for work that a stopped turn still has to finish", async () => {
    const sessionLimits = { cancelGrace: 5 };
    await using app = await AcpApp.open({
      budgets: { session: { steps: 1 } },
      sessionLimits,
      script: async (turn) => {
        const call = (toolCallId: string) =>
          turn.update({ sessionUpdate: "tool_call", toolCallId, title: "T" });
        await call("a");
        // The grace ends long before this is done.
        const push = async () => {
          await call("b");
          assert.ok(turn.signal.aborted);
          await new Promise((resolve) => setTimeout(resolve, 60));
        };
        await turn.whileWaiting?.(push);
        await turn.update(chunk("pushed"));
      },
    });
    const { client, sessionId } = await join(app);
    await client.prompt(sessionId, "push");
    assert.match(client.text, /Stopped: .*pushed/s);
  });

  it("does not count the time in which a person is asked", async (t) => {
    const now = performance.now.bind(performance);
    let asked = 0;
    t.mock.method(performance, "now", () => now() + asked);
    await using app = await AcpApp.open({
      budgets: { session: { time: 60 } },
      script: async (turn) => {
        await turn.whileWaiting?.(async () => void (asked = 3_600_000));
        // What is used is looked at with each step.
        await turn.update({ sessionUpdate: "tool_call", toolCallId: "a", title: "T" });
      },
    });
    const { client, sessionId } = await join(app);
    const end = await client.prompt(sessionId, "ask");
    assert.equal(end.stopReason, "end_turn");
    assert.ok(end._meta.trunkline.budget.session.time.used < 60);
  });

  it("warns once when four fifths are used", async () => {
    await using app = await AcpApp.open({ script: use, budgets: { session: { steps: 10 } } });
    const { client, sessionId } = await join(app);
    await client.prompt(sessionId, "steps 9");
    assert.equal(client.text.match(/8 of 10 steps of this session's budget are used/g)?.length, 1);
    assert.ok(!client.text.includes("Stopped"));
  });
});

describe("the budget of a day", { timeout: 30_000 }, () => {
  it("is shared by all sessions of one token only, and resets the next day", async () => {
    let now = NOON;
    const budgets = { day: { tokens: 1_000 }, now: () => now };
    await using app = await AcpApp.open({ script: use, budgets });
    const { client, sessionId } = await join(app, tokenOf("a"));
    await client.prompt(sessionId, "tokens 600");
    const second = await begin(client);
    const end = await client.prompt(second, "tokens 500");
    assert.deepEqual(end._meta.trunkline.budget.day, {
      tokens: { used: 1_100, limit: 1_000 },
      resets: "2026-03-02T00:00:00.000Z",
    });
    const refused =
      /1,100 of 1,000 tokens of today's budget are used\. It resets at 2026-03-02 00:00 UTC\. `sessions\.dailyBudget\.tokens` raises it/;
    await assert.rejects(client.prompt(sessionId, "tokens 1"), refused);
    const other = await join(app, tokenOf("b"));
    assert.equal((await other.client.prompt(other.sessionId, "tokens 1")).stopReason, "end_turn");
    now += DAY;
    assert.equal((await client.prompt(sessionId, "tokens 1")).stopReason, "end_turn");
  });

  it("is the token's own if it has one, and deleting a session gives nothing back", async () => {
    const budgets = { day: { tokens: 10_000, steps: 5 } };
    await using app = await AcpApp.open({ script: use, budgets });
    const { client, sessionId } = await join(app, tokenOf("a", { budget: { tokens: 100 } }));
    await client.prompt(sessionId, "tokens 100");
    await client.ask("session/delete", { sessionId });
    const next = await begin(client);
    const refused =
      /100 of 100 tokens.*The limit is that of the access token 'a' \(--budget-tokens\)/;
    await assert.rejects(client.prompt(next, "tokens 1"), refused);
  });

  it("stops a turn when other turns of the token use it up meanwhile", async () => {
    const budgets = { day: { tokens: 1_000 }, noteEvery: 10 };
    await using app = await AcpApp.open({ script: use, budgets });
    const { client, sessionId } = await join(app, tokenOf("a"));
    const waiting = client.prompt(sessionId, "wait");
    await client.prompt(await begin(client), "tokens 1000");
    assert.equal((await waiting).stopReason, "max_tokens");
  });

  it("refuses prompts while it cannot be read, and later stores what could not be stored", async () => {
    await using app = await AcpApp.open({
      budgets: { day: { tokens: 100 } },
      script: async (turn) => {
        if (promptText(turn) === "fail") fail = true;
        return {
          stopReason: "end_turn",
          usage: { totalTokens: 100, inputTokens: 100, outputTokens: 0 },
        };
      },
    });
    let fail = false;
    using disk = new DiskFaults(app.folder.path);
    // Only the counts fail: the log of the session can still be written.
    disk.decide = ({ operation }) => (fail && operation.includes("turn_usage") ? "EIO" : undefined);
    const { client, sessionId } = await join(app);
    await client.prompt(sessionId, "fail");
    await assert.rejects(client.prompt(sessionId, "again"), /disk I\/O error|EIO/);
    fail = false;
    await assert.rejects(client.prompt(sessionId, "again"), /100 of 100 tokens/);
  });
});
