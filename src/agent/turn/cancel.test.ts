import assert from "node:assert/strict";
import { chmodSync, existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";

import { Offer } from "../../tool/offer/offer.ts";
import { until } from "../../../test/support/until.ts";
import { AgentRig, QUICK } from "../../../test/agent/agent-rig.ts";
import { FakeLlm } from "../../../test/agent/fake-llm.ts";
import { groupEnd } from "../../../test/agent/group-end.ts";
import { SampleTurn, type SampleTurnOptions } from "../../../test/agent/sample-turn.ts";

/** Runs a turn, and cancels it once something has happened. What is cancelled would last for hours. */
async function cancelled(
  rig: AgentRig,
  options: SampleTurnOptions,
  when: (turn: SampleTurn) => Promise<void>,
): Promise<SampleTurn> {
  const session = await rig.open();
  const turn = new SampleTurn(options);
  const running = session.prompt(turn);
  await when(turn);
  turn.cancel();
  const { stopReason } = await running;
  assert.equal(stopReason, "cancelled");
  return turn;
}

describe("a cancelled turn ends soon", () => {
  it("while the model answers", async () => {
    const content = "a long story ".repeat(60);
    await using llm = await FakeLlm.start([{ content, latency: 20 }]);
    await using rig = new AgentRig({ llm });
    const turn = await cancelled(rig, { prompt: "go" }, async (running) => {
      await until(() => running.text !== "");
    });
    assert.ok(turn.text.length < content.length);
  });

  it("while a command runs, which ends with everything it started", async () => {
    const command = "trap '' TERM; echo $$ > pid; sleep 8100 & sleep 8200";
    await using llm = await FakeLlm.start([
      { toolCalls: [{ name: "run_command", arguments: { command } }] },
    ]);
    await using rig = new AgentRig({ llm });
    const file = join(rig.cwd, "pid");
    const turn = await cancelled(rig, { prompt: "go" }, async () => {
      await until(() => existsSync(file) && readFileSync(file, "utf8").endsWith("\n"));
    });
    assert.deepEqual(turn.ends, ["failed"]);
    await groupEnd(Number(rig.read("pid")));
  });

  it("while git runs, which ends with its hooks and leaves no lock behind", async () => {
    await using llm = await FakeLlm.start([
      { toolCalls: [{ name: "git_commit", arguments: { message: "More", paths: ["a"] } }] },
    ]);
    await using rig = new AgentRig({ llm, files: { a: "1" } });
    rig.commitAll();
    rig.write("a", "2");
    const script = "#!/bin/sh\nps -o pgid= -p $$ > ../pid\nsleep 8300\n";
    rig.write(".git/hooks/pre-commit", script);
    chmodSync(join(rig.cwd, ".git/hooks/pre-commit"), 0o755);
    const pid = join(rig.folder, "pid");
    await cancelled(rig, { prompt: "go" }, () => {
      return until(() => existsSync(pid) && readFileSync(pid, "utf8") !== "");
    });
    await groupEnd(Number(readFileSync(pid, "utf8")));
    assert.equal(existsSync(join(rig.cwd, ".git/index.lock")), false);
  });

  it("while a person is asked", async () => {
    await using llm = await FakeLlm.start([
      { toolCalls: [{ name: "write_file", arguments: { path: "a", content: "x" } }] },
    ]);
    await using rig = new AgentRig({ llm });
    const decide = (): Promise<never> => new Promise(() => {});
    await cancelled(rig, { prompt: "go", decide }, async (running) => {
      await until(() => running.asked.length > 0);
    });
    assert.equal(existsSync(join(rig.cwd, "a")), false);
  });

  it("while it waits to retry", async () => {
    await using llm = await FakeLlm.start([{ error: { message: "Oops" }, status: 500 }]);
    const retry = { ...QUICK, firstWait: 6_000_000, longestWait: 6_000_000 };
    await using rig = new AgentRig({ llm, limits: { retry } });
    await cancelled(rig, { prompt: "go" }, async (running) => {
      await until(() => running.notices !== "");
    });
  });

  it("while a tool of the toolbox ignores the cancellation", async () => {
    const offer = new Offer();
    let isCalled = false;
    offer.tools.add({
      definition: {
        name: "forever",
        inputSchema: { type: "object" },
        annotations: { readOnlyHint: true },
      },
      call: () => {
        isCalled = true;
        return new Promise(() => {});
      },
    });
    await using llm = await FakeLlm.start([{ toolCalls: [{ name: "forever", arguments: {} }] }]);
    await using rig = new AgentRig({ llm, offer: async () => offer });
    await cancelled(rig, { prompt: "go" }, () => until(() => isCalled));
  });

  it("and the next turn continues from there, with an answer to every call", async () => {
    await using llm = await FakeLlm.start([
      {
        toolCalls: [
          { name: "write_file", arguments: { path: "a", content: "x" } },
          { name: "write_file", arguments: { path: "b", content: "x" } },
        ],
      },
      { content: "Again." },
    ]);
    await using rig = new AgentRig({ llm });
    const session = await rig.open();
    const turn = new SampleTurn({ prompt: "go", decide: () => new Promise<never>(() => {}) });
    const running = session.prompt(turn);
    await until(() => turn.asked.length > 0);
    turn.cancel();
    await running;
    const { turn: next, end } = await rig.turnOf(session, "continue");
    assert.equal(end.stopReason, "end_turn");
    assert.equal(next.text, "Again.");
    assert.equal(llm.seen(1).match(/tool: \(Cancelled\.\)/g)?.length, 2);
  });

  it("while an editor does not answer", async () => {
    await using rig = new AgentRig({ files: { "package.json": "{}" } });
    let isAsked = false;
    const fs = {
      readTextFile: () => {
        isAsked = true;
        return new Promise<never>(() => {});
      },
    };
    await cancelled(rig, { prompt: "/test", client: { fs } }, () => until(() => isAsked));
  });

  it("before it has begun", async () => {
    await using llm = await FakeLlm.start([{ content: "Never." }]);
    await using rig = new AgentRig({ llm });
    const session = await rig.open();
    const turn = new SampleTurn({ prompt: "go" });
    turn.cancel();
    assert.deepEqual(await session.prompt(turn), { stopReason: "cancelled" });
    assert.equal(llm.requests.length, 0);
  });
});
