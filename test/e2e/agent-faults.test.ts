// Long: agents that fail in every way.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";

import { AgentEditor } from "../agent/agent-editor.ts";
import { FakeLlm, type Scripted } from "../agent/fake-llm.ts";
import { groupEnd } from "../agent/group-end.ts";

const DONE: Scripted = { content: "Done." };
/** A model is asked again after a second, so each fault is shown once here, and all in unit tests. */
const PASSING: Readonly<Record<string, Scripted>> = {
  "a rate limit": { error: { message: "Slow down" }, status: 429 },
  "a server's fault": { error: { message: "Oops" }, status: 500 },
  "a stream that breaks off": { content: "A text that ends early.", truncateAfterChunks: 2 },
  "a malformed chunk": { content: "Never said.", chaos: { malformedRate: 1 } },
};

describe("a turn of the running program", { timeout: 600_000 }, () => {
  let llm: FakeLlm;
  let editor: AgentEditor;
  before(async () => {
    llm = await FakeLlm.start([]);
    editor = await AgentEditor.open({ llm, config: { models: { maxSteps: 3 } } });
  });
  after(async () => {
    await editor[Symbol.asyncDispose]();
    await llm[Symbol.asyncDispose]();
  });

  for (const [name, fault] of Object.entries(PASSING)) {
    it(`continues after ${name}, with a notice`, async () => {
      llm.play([fault, DONE]);
      const { stopReason, text } = await editor.say(await editor.another(), "go");
      assert.equal(stopReason, "end_turn");
      assert.match(text, /Trying again in .* \(attempt 2 of 5\)/);
      assert.ok(text.endsWith("Done."), text);
    });
  }

  it("asks whether to try again if the key is refused; if not, it fails with the reason, and the session continues", async () => {
    const refusal: Scripted = { error: { message: "bad key" }, status: 401 };
    llm.play([refusal, DONE]);
    const id = await editor.another();
    editor.decide = () => "reject_once";
    await assert.rejects(editor.say(id, "go"), /status 401.*Check the key/);
    assert.equal((await editor.say(id, "continue")).text, "Done.");
    assert.match(llm.seen(1), /user: .*go/);
  });

  it("ends with max_turn_requests if the model calls tools without end", async () => {
    const toolCalls = [{ name: "git_status", arguments: {} }];
    llm.play([{ toolCalls }]);
    const id = await editor.another();
    assert.equal((await editor.say(id, "go")).stopReason, "max_turn_requests");
    assert.equal(llm.requests.length, 3);
    assert.equal((await editor.say(id, "/help")).stopReason, "end_turn");
  });

  it("tells the model of a command that takes too long, which ends with everything it started", async () => {
    const command = "echo $$ > pid; sleep 71 & sleep 72";
    const toolCalls = [{ name: "run_command", arguments: { command, timeout_ms: 1_500 } }];
    llm.play([{ toolCalls }, DONE]);
    const { calls, text } = await editor.say(await editor.another(), "go");
    assert.match(calls.join(), /: failed/);
    assert.equal(text, "Done.");
    assert.match(llm.seen(1), /killed after/);
    await groupEnd(Number(editor.read("pid")));
  });

  it("summarises when the model's context is full, with a notice, also when loaded", async () => {
    const overflow: Scripted = {
      error: { message: "This model's maximum context length is 100 tokens" },
      status: 400,
    };
    const summary: Scripted = { content: "It was about ships." };
    llm.play([DONE, overflow, summary, DONE, DONE]);
    const id = await editor.another();
    const { cwd } = editor;
    await editor.say(id, "A long story about ships");
    const { text, stopReason } = await editor.say(id, "Go on");
    assert.equal(stopReason, "end_turn");
    assert.match(text, /summar/i);
    await editor.killed();
    await editor.ask("session/load", { sessionId: id, cwd, mcpServers: [] });
    await editor.say(id, "And then?");
    assert.match(llm.seen(-1), /It was about ships/);
    assert.doesNotMatch(llm.seen(-1), /A long story/);
  });

  it("is interrupted, never ended, if the program is killed, and leaves nothing running", async () => {
    const command = "echo $$ > pid; sleep 73";
    const toolCalls = [{ name: "run_command", arguments: { command } }];
    llm.play([{ toolCalls }, DONE]);
    const id = await editor.another();
    const { cwd } = editor;
    editor.prompt(id, "go");
    await editor.find(({ params }) => params?.update?.status === "in_progress");
    await hasWritten(join(cwd, "pid"), editor);
    await editor.killed();
    await groupEnd(Number(editor.read("pid")));
    await editor.ask("session/load", { sessionId: id, cwd, mcpServers: [] });
    assert.match(JSON.stringify(editor.updatesOf(id)), /interrupted/);
    const { stopReason, text } = await editor.say(id, "continue");
    assert.deepEqual([stopReason, text], ["end_turn", "Done."]);
    assert.match(llm.seen(-1), /user: .*go/);
  });

  it("ends as cancelled during its command, and the next one continues", async () => {
    const command = "trap '' TERM; echo $$ > pid; sleep 74";
    const toolCalls = [{ name: "run_command", arguments: { command } }];
    llm.play([{ toolCalls }, DONE]);
    const id = await editor.another();
    const { cwd } = editor;
    const turn = editor.prompt(id, "go");
    await hasWritten(join(cwd, "pid"), editor);
    editor.cancel(id);
    assert.equal((await editor.answerTo(turn)).stopReason, "cancelled");
    await groupEnd(Number(editor.read("pid")));
    assert.equal((await editor.say(id, "continue")).text, "Done.");
  });
});

/** Waits for a command to have begun. */
async function hasWritten(path: string, editor: AgentEditor): Promise<void> {
  for (;;) {
    // Looking at them answers what is asked in them.
    void editor.messages;
    try {
      if (readFileSync(path, "utf8") !== "") return;
    } catch {
      // Not yet.
    }
    await sleep(10);
  }
}
