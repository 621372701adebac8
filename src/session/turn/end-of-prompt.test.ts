import assert from "node:assert/strict";
import { describe, it } from "node:test";

import type { SessionEvent, StoredEvent } from "../event.ts";
import { endOfPrompt } from "./end-of-prompt.ts";

function logOf(...events: SessionEvent[]): Parameters<typeof endOfPrompt>[0] {
  const stored = events.map((message, at): StoredEvent => {
    return { seq: at + 1, at: 0, direction: "agent", message };
  });
  return {
    async *read(_id, after = 0) {
      yield stored.slice(after);
    },
  };
}

const say = (text: string) => [{ type: "text", text }];
const sent = (text: string) => ({ prompt: say(text), origin: "us" });
const prompt = (turnId: string, text: string, origin = "us"): SessionEvent => {
  return { kind: "prompt", turnId, prompt: say(text), by: "editor", origin };
};
const end = (turnId: string): SessionEvent => ({ kind: "end", turnId, stopReason: "end_turn" });

describe("endOfPrompt()", () => {
  it("finds the end of the turn of that very prompt", async () => {
    const log = logOf(prompt("t1", "other"), prompt("t2", "mine"), end("t1"), {
      kind: "end",
      turnId: "t2",
      stopReason: "max_tokens",
      usage: { totalTokens: 3 },
    });
    const found = await endOfPrompt(log, "s", sent("mine"), 0);
    assert.deepEqual(found, { stopReason: "max_tokens", usage: { totalTokens: 3 } });
  });

  it("calls a turn interrupted that has no end", async () => {
    const log = logOf(prompt("t1", "mine"));
    assert.deepEqual(await endOfPrompt(log, "s", sent("mine"), 0), { stopReason: "interrupted" });
  });

  it("finds nothing where nobody has begun to work on the prompt", async () => {
    const log = logOf(prompt("t1", "mine"), end("t1"));
    assert.equal(await endOfPrompt(log, "s", sent("mine"), 2), undefined);
    assert.equal(await endOfPrompt(log, "s", sent("another"), 0), undefined);
  });

  it("takes no other client's prompt for it, though both say the same", async () => {
    const log = logOf(prompt("t1", "go on", "them"), end("t1"));
    assert.equal(await endOfPrompt(log, "s", sent("go on"), 0), undefined);
  });
});
