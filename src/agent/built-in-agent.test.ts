import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { AgentRig, KEY } from "../../test/agent/agent-rig.ts";
import { FakeLlm } from "../../test/agent/fake-llm.ts";
import { REJECT } from "../../test/agent/sample-turn.ts";

for (const anthropic of [false, true]) {
  describe(`the built-in agent, with a model of ${anthropic ? "Anthropic's kind" : "OpenAI's kind"}`, () => {
    it("forwards the model's text and ends the turn", async () => {
      await using llm = await FakeLlm.start([{ content: "Hello from the model." }]);
      await using rig = new AgentRig({ llm, anthropic });
      const { turn, end } = await rig.turn("hi");
      assert.equal(turn.text, "Hello from the model.");
      assert.equal(end.stopReason, "end_turn");
      assert.ok(turn.ofKind("agent_message_chunk").length > 1, "it is streamed");
      assert.equal(turn.ofKind("usage_update").length, 1);
    });

    it("reports the cost of the session so far, if the model has a price", async () => {
      const usage = anthropic
        ? { input_tokens: 1_000_000, output_tokens: 100_000 }
        : { prompt_tokens: 1_000_000, completion_tokens: 100_000 };
      await using llm = await FakeLlm.start([
        { content: "One.", usage },
        { content: "Two.", usage },
      ]);
      await using rig = new AgentRig({ llm, anthropic, cost: { "*": { input: 3, output: 15 } } });
      const session = await rig.open();
      for (const amount of [4.5, 9]) {
        const { turn } = await rig.turnOf(session, "hi");
        assert.deepEqual(turn.ofKind("usage_update").at(-1)?.cost, { amount, currency: "USD" });
      }
    });

    it("calls tools and gives the model their results", async () => {
      await using llm = await FakeLlm.start([
        { toolCalls: [{ name: "read_file", arguments: { path: "a.txt" } }] },
        { content: "It says one." },
      ]);
      await using rig = new AgentRig({ llm, anthropic, files: { "a.txt": "one\ntwo\n" } });
      const { turn, end } = await rig.turn("read it");
      assert.equal(end.stopReason, "end_turn");
      assert.deepEqual(turn.ends, ["completed"]);
      const [call] = turn.ofKind("tool_call");
      assert.equal(call?.kind, "read");
      assert.equal(call?.title, "Read a.txt");
      assert.match(llm.seen(1), /tool: {5}1\tone\n {4}2\ttwo/);
      assert.equal(turn.text, "It says one.");
    });

    it("shows an edit as a diff, asks for permission, and writes it if allowed", async () => {
      await using llm = await FakeLlm.start([
        {
          toolCalls: [
            { name: "edit_file", arguments: { path: "a.txt", old_string: "two", new_string: "2" } },
          ],
        },
        { content: "Done." },
      ]);
      await using rig = new AgentRig({ llm, anthropic, files: { "a.txt": "one\ntwo\n" } });
      const { turn } = await rig.turn("change it");
      assert.equal(rig.read("a.txt"), "one\n2\n");
      assert.equal(turn.asked.length, 1);
      const content = turn.asked[0]?.toolCall.content ?? [];
      const [diff] = content as { type: string; newText: string }[];
      assert.equal(diff?.type, "diff");
      assert.equal(diff?.newText, "one\n2\n");
      const done = turn.ofKind("tool_call_update").at(-1);
      assert.deepEqual(done?.locations, [{ path: `${rig.cwd}/a.txt`, line: 2 }]);
    });

    it("does not change a file if the edit is refused, and tells the model", async () => {
      await using llm = await FakeLlm.start([
        { toolCalls: [{ name: "write_file", arguments: { path: "b.txt", content: "x" } }] },
        { content: "All right." },
      ]);
      await using rig = new AgentRig({ llm, anthropic });
      const { turn, end } = await rig.turn({ prompt: "change it", decide: () => REJECT });
      assert.throws(() => rig.read("b.txt"), { code: "ENOENT" });
      assert.equal(end.stopReason, "end_turn");
      assert.deepEqual(turn.ends, ["failed"]);
      assert.match(llm.seen(), /did not allow it/);
    });

    it("never shows the key to the model or the log", async () => {
      await using llm = await FakeLlm.start([
        { toolCalls: [{ name: "run_command", arguments: { command: "env; cat key" } }] },
        { content: "Done." },
      ]);
      await using rig = new AgentRig({ llm, anthropic, files: { key: `the key is ${KEY}\n` } });
      process.env.SOME_API_KEY = KEY;
      const { turn } = await rig.turn("look");
      delete process.env.SOME_API_KEY;
      assert.doesNotMatch(JSON.stringify(turn.updates), new RegExp(KEY));
      assert.match(llm.seen(), /the key is •••/);
      assert.doesNotMatch(llm.seen(), new RegExp(KEY));
      assert.doesNotMatch(rig.log.join(""), new RegExp(KEY));
      assert.ok(turn.text.includes("Done."));
    });
  });
}

for (const type of ["openai", "google"] as const) {
  describe(`the built-in agent, with a provider of the type ${type}`, () => {
    it("reads and writes files as the model asks", async () => {
      const finish = type === "google" ? { finishReason: "STOP" } : {};
      await using llm = await FakeLlm.start([
        { toolCalls: [{ name: "write_file", arguments: { path: "b", content: "B" } }], ...finish },
        { content: "Done.", ...finish },
      ]);
      await using rig = new AgentRig({ llm, type });
      const { turn, end } = await rig.turn("write it");
      assert.equal(turn.text, "Done.");
      assert.equal(end.stopReason, "end_turn");
      assert.equal(rig.read("b"), "B");
    });
  });
}
