import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { AgentRig, QUICK } from "../../../test/agent/agent-rig.ts";
import { REJECT } from "../../../test/agent/sample-turn.ts";
import { FakeLlm, type Scripted } from "../../../test/agent/fake-llm.ts";
import { RpcError } from "../../rpc/rpc-error.ts";
import { OFFLINE } from "../models/models.ts";
import { MockLanguageModelV4 } from "ai/test";

const ANSWER: Scripted = { content: "Here it is, at last." };
const PASSING: Readonly<Record<string, Scripted>> = {
  "a rate limit": { error: { message: "Slow down" }, status: 429 },
  "a fault of the server": { error: { message: "Oops" }, status: 500 },
  "an overload": { error: { message: "Overloaded", type: "overloaded_error" }, status: 529 },
  "a stream that breaks off": {
    content: "This is a long text that ends early.",
    truncateAfterChunks: 3,
  },
  "a connection that is dropped": { content: "Never said.", chaos: { disconnectRate: 1 } },
  "a malformed answer": { content: "Never said.", chaos: { malformedRate: 1 } },
};

for (const anthropic of [false, true]) {
  describe(`a turn with ${anthropic ? "Anthropic" : "an OpenAI-compatible server"}`, () => {
    for (const [name, fault] of Object.entries(PASSING)) {
      it(`continues after ${name}, with a notice`, async () => {
        await using llm = await FakeLlm.start([fault, ANSWER]);
        await using rig = new AgentRig({ llm, anthropic });
        const { turn, end } = await rig.turn("go");
        assert.equal(end.stopReason, "end_turn");
        assert.ok(turn.text.endsWith("Here it is, at last."), turn.text);
        assert.match(turn.notices, /Trying again in .* \(attempt 2 of 4\)/);
      });

      // The fake wants a second's rest after each: see below.
      if (fault.status === 429) continue;
      it(`fails with a reason if ${name} persists, and can continue later`, async () => {
        await using llm = await FakeLlm.start([fault, fault, fault, fault, ANSWER]);
        await using rig = new AgentRig({ llm, anthropic });
        const session = await rig.open();
        await assert.rejects(rig.turnOf(session, "go"), /What was said and done so far is kept/);
        const { turn, end } = await rig.turnOf(session, "continue");
        assert.equal(end.stopReason, "end_turn");
        assert.ok(turn.text.endsWith("Here it is, at last."));
        assert.match(llm.seen(4), /user: .*go/);
        assert.match(llm.seen(4), /user: .*continue/);
      });
    }

    it("does not retry with a key that is refused unless the person wants it", async () => {
      const refusal = { error: { message: "invalid x-api-key" }, status: 401 };
      await using llm = await FakeLlm.start([refusal, ANSWER]);
      await using rig = new AgentRig({ llm, anthropic });
      const message = /status 401.*Check the key.*'continue'/;
      const turn = rig.turn({ prompt: "go", decide: () => REJECT });
      await assert.rejects(turn, { code: -32_000, message });
      assert.equal(llm.requests.length, 1);
    });
  });
}

describe("askWithRetry()", () => {
  it("says how long a rate limit lasts if that is longer than it waits", async () => {
    await using llm = await FakeLlm.start([{ error: { message: "Usage limit" }, status: 429 }]);
    await using rig = new AgentRig({ llm, limits: { retry: { ...QUICK, longestWait: 50 } } });
    const failure = await rig.turn("go").then(
      () => undefined,
      (error: unknown) => error,
    );
    assert.ok(failure instanceof RpcError);
    assert.equal(failure.code, -32029);
    assert.match(failure.message, /Usage limit. Try again in 1 s/);
    assert.deepEqual(failure.data, { retryAfterMs: 1_000 });
  });

  it("stops waiting for a model that began to answer and then went silent", async () => {
    const silent = new MockLanguageModelV4({
      doStream: async () => ({ stream: new ReadableStream({ start: () => {} }) }),
    });
    const entry = { ...OFFLINE, id: "mock/silent", contextWindow: 1_000, open: async () => silent };
    const models = {
      list: () => [entry],
      first: () => entry,
      refresh: async () => {},
      onChange: () => () => {},
      failures: new Map<string, string>(),
    };
    const retry = { ...QUICK, attempts: 2, silence: 30 };
    await using rig = new AgentRig({ models, limits: { retry } });
    await assert.rejects(rig.turn("go"), /mock\/silent said nothing for .* 2 times/);
    assert.equal(silent.doStreamCalls.length, 2);
  });
});
