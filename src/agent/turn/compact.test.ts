import assert from "node:assert/strict";
import { describe, it } from "node:test";

import type { ModelMessage } from "ai";
import { MockLanguageModelV4 } from "ai/test";

import type { HistoryEntry } from "../../session/agent.ts";
import { AgentRig } from "../../../test/agent/agent-rig.ts";
import { FakeLlm } from "../../../test/agent/fake-llm.ts";
import { compact, tokensOf } from "./compact.ts";

const OVERFLOW = {
  error: {
    message: "This model's maximum context length is 8192 tokens",
    type: "invalid_request_error",
  },
  status: 400,
};

describe("a conversation that is too long", () => {
  it("is summarised if the model reports an overflow, with a notice", async () => {
    await using llm = await FakeLlm.start([
      { content: "First answer." },
      OVERFLOW,
      { content: "They wanted the first thing." },
      { content: "Second answer." },
    ]);
    await using rig = new AgentRig({ llm });
    const session = await rig.open();
    await rig.turnOf(session, `first ${"x".repeat(400_000)}`);
    const { turn, end } = await rig.turnOf(session, {
      prompt: "second",
      client: { compaction: true },
    });
    assert.equal(end.stopReason, "end_turn");
    assert.equal(turn.text, "Second answer.");
    const updates = turn.ofKind("compaction_update");
    assert.deepEqual(
      updates.map(({ status }) => status),
      ["in_progress", "completed"],
    );
    assert.match(JSON.stringify(updates[1]?.summary), /They wanted the first thing/);
    assert.match(turn.notices, /had become too long.*a summary/);
    assert.match(llm.seen(-1), /They wanted the first thing/);
    assert.match(llm.seen(-1), /user: .*second/);
    assert.ok(llm.seen(-1).length < 10_000);
  });

  it("is summarised before it is full, and the summary is kept when the session is loaded", async () => {
    const big = { content: "big", usage: { prompt_tokens: 125_000, completion_tokens: 10 } };
    await using llm = await FakeLlm.start([
      big,
      big,
      { content: "The gist of it." },
      { content: "On we go." },
      { content: "Loaded." },
    ]);
    await using rig = new AgentRig({ llm });
    const session = await rig.open();
    const first = await rig.turnOf(session, "one");
    const second = await rig.turnOf(session, "two");
    const { turn } = await rig.turnOf(session, "three");
    assert.match(turn.text, /_The conversation had become too long.*_\n\nOn we go\./s);
    const history = [first.turn, second.turn, turn].flatMap((each): HistoryEntry[] => [
      { kind: "prompt", turnId: each.id, prompt: each.prompt },
      ...each.updates.map((update) => ({ kind: "update" as const, update })),
      { kind: "end", turnId: each.id, stopReason: "end_turn" },
    ]);
    const loaded = await rig.open({
      history: (async function* () {
        yield history;
      })(),
    });
    await rig.turnOf(loaded, "four");
    const seen = llm.seen(-1);
    assert.match(seen, /The gist of it/);
    assert.doesNotMatch(seen, /user: .*one/);
    assert.match(seen, /On we go/);
  });

  it("fails with a reason if a summary does not help", async () => {
    await using llm = await FakeLlm.start([OVERFLOW, OVERFLOW, OVERFLOW]);
    await using rig = new AgentRig({ llm });
    await assert.rejects(rig.turn("go"), (error: Error) => {
      assert.match(error.message, /not fit into the context of openai\/gpt-4, even shortened.*new/);
      return (error as { code?: unknown }).code === "usage";
    });
  });
});

describe("compact()", () => {
  const call = (id: string): ModelMessage => ({
    role: "assistant",
    content: [{ type: "tool-call", toolCallId: id, toolName: "read_file", input: { path: id } }],
  });
  const answer = (id: string, value: string): ModelMessage => ({
    role: "tool",
    content: [
      {
        type: "tool-result",
        toolCallId: id,
        toolName: "read_file",
        output: { type: "text", value },
      },
    ],
  });

  it("counts an image by what providers count, not by its data", () => {
    const file = { type: "file", data: "A".repeat(4_000_000), mediaType: "image/png" } as const;
    const count = tokensOf([{ role: "user", content: [file, { type: "text", text: "Look" }] }]);
    assert.ok(count > 1_000 && count < 2_000, String(count));
  });

  it("keeps calls and their results together, and cuts long results", async () => {
    const messages: ModelMessage[] = [
      { role: "user", content: "please" },
      ...Array.from({ length: 30 }, (_, n) => [
        call(`${n}`),
        answer(`${n}`, "x".repeat(9_000)),
      ]).flat(),
    ];
    const failing = new MockLanguageModelV4({
      doGenerate: () => Promise.reject(new Error("no")),
    });
    const {
      messages: short,
      summary,
      isWritten,
    } = await compact(messages, {
      model: failing,
      window: 20_000,
      signal: new AbortController().signal,
    });
    assert.equal(isWritten, false);
    assert.match(summary, /The person said: please/);
    assert.match(summary, /You called read_file {"path":"0"}/);
    assert.equal(short[0]?.role, "user");
    assert.equal(short[1]?.role, "assistant");
    assert.equal(short.at(-1)?.role, "tool");
    assert.ok(short.length < messages.length);
    assert.ok(JSON.stringify(short).length < 60_000);
  });
});
