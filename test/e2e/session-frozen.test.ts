// Long: frozen processes are waited for.
import assert from "node:assert/strict";
import { join } from "node:path";
import { describe, it } from "node:test";
import { setTimeout as delay } from "node:timers/promises";

import { AcpEditor, Place } from "../support/acp-editor.ts";
import { runningAt } from "../support/running-at.ts";
import { until } from "../support/until.ts";

const AGENT = join(import.meta.dirname, "../support/acp-agent.mjs");
const other = { command: process.execPath, args: [AGENT, "--loads"] };
const SHARED = {
  config: { agent: "other", agents: { other } },
  answers: { "session/request_permission": () => undefined },
  isShared: true,
};

/** What a process says when it finds that its session was taken. */
const TAKEN = /\n\n_Another Trunkline has taken this session over .* It goes on there\._\n\n/;

async function joinIn(editor: AcpEditor, sessionId: string): Promise<void> {
  await editor.hello();
  const { folder } = editor.place;
  await editor.ask("session/load", { sessionId, cwd: folder, mcpServers: [] });
}

/** Stopped until it is disposed of. */
function stopped({ program }: AcpEditor): Disposable {
  program.child.kill("SIGSTOP");
  return { [Symbol.dispose]: () => program.child.kill("SIGCONT") };
}

function commands({ home }: Place, words: string): number[] {
  return runningAt(home)
    .filter(({ command }) => command.includes(words))
    .map(({ pid }) => pid);
}

describe("a session whose process is stopped", { timeout: 600_000 }, () => {
  it("is taken over: prompts are answered, what it had started ends, and it follows when it wakes", async () => {
    using place = new Place();
    await using one = new AcpEditor(place, SHARED);
    const sessionId = await one.begin();
    await one.prompt(sessionId, "run leave|/bin/sleep|1234567");
    await using two = new AcpEditor(place, SHARED);
    await using three = new AcpEditor(place, SHARED);
    await Promise.all([joinIn(two, sessionId), joinIn(three, sessionId)]);
    const [agent] = commands(place, "acp-agent.mjs");
    const asked = two.post("session/prompt", {
      sessionId,
      prompt: [{ type: "text", text: "forever" }],
    });
    await three.program.until(() => three.text().includes("40 "));
    {
      using _ = stopped(one);
      const { error } = await two.answerTo(asked);
      assert.match(String(error?.message), /process that worked on this prompt has ended/);
      assert.deepEqual(error?.data, { interrupted: true });
      assert.deepEqual(commands(place, "1234567"), []);
      assert.ok(!commands(place, "acp-agent.mjs").includes(agent ?? 0));
      assert.deepEqual(await three.prompt(sessionId, "say on and on"), { stopReason: "end_turn" });
      await two.program.until(() => two.text().endsWith("on and on"));
    }
    // It learns what happened, and that it is not the one that has the session open.
    await one.program.until(() => one.text().endsWith("on and on"));
    assert.equal(two.text(), three.text());
    assert.equal(one.text().replace(TAKEN, ""), two.text());
    assert.match(one.program.stderr, /session.taken-over/);
    assert.deepEqual(await one.prompt(sessionId, "say mine"), { stopReason: "end_turn" });
    await three.program.until(() => three.text().endsWith("mine"));
    assert.deepEqual(commands(place, "1234567"), []);
  });

  it("answers its own client when it wakes, and is loaded by others meanwhile", async () => {
    using place = new Place();
    await using one = new AcpEditor(place, SHARED);
    const sessionId = await one.begin();
    const asked = one.post("session/prompt", {
      sessionId,
      prompt: [{ type: "text", text: "forever" }],
    });
    await one.program.until(() => one.text().includes("40 "));
    await using two = new AcpEditor(place, SHARED);
    {
      using _ = stopped(one);
      // One that leaves while it waits does not wait any longer.
      const impatient = new AcpEditor(place, SHARED);
      await impatient.hello();
      const { folder: cwd } = place;
      impatient.post("session/load", { sessionId, cwd, mcpServers: [] });
      await impatient[Symbol.asyncDispose]();
      await joinIn(two, sessionId);
      assert.match(two.text(), /interrupted/);
    }
    const { error } = await one.answerTo(asked);
    assert.match(error?.data.details, /Another Trunkline has taken session/);
    await one.program.until(() => one.text().replace(TAKEN, "") === two.text());
    assert.match(one.text(), TAKEN);
  });

  it("keeps its session if its machine has slept: its clients were stopped too", async () => {
    using place = new Place();
    await using one = new AcpEditor(place, SHARED);
    const sessionId = await one.begin();
    await using two = new AcpEditor(place, SHARED);
    await joinIn(two, sessionId);
    const prompt = [{ type: "text", text: "permission" }];
    const asked = two.post("session/prompt", { sessionId, prompt });
    const question = await two.find(({ method }) => method === "session/request_permission");
    {
      using _one = stopped(one);
      using _two = stopped(two);
      // Longer than anybody waits for a process that is stopped.
      await delay(10_000);
    }
    const outcome = { outcome: "selected", optionId: "once" };
    two.program.write({ jsonrpc: "2.0", id: question.id, result: { outcome } });
    assert.deepEqual((await two.answerTo(asked)).result, { stopReason: "end_turn" });
    assert.doesNotMatch(one.program.stderr, /taken-over/);
  });

  it("keeps its session if nobody else needs it", async () => {
    using place = new Place();
    await using one = new AcpEditor(place, SHARED);
    const sessionId = await one.begin();
    await one.prompt(sessionId, "say before");
    {
      using _ = stopped(one);
      await until(() => runningAt(place.home).length > 0);
    }
    assert.deepEqual(await one.prompt(sessionId, "say after"), { stopReason: "end_turn" });
    assert.equal(one.text(), "beforeafter");
  });
});
