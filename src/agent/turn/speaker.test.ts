import assert from "node:assert/strict";
import { describe, it } from "node:test";

import type { SessionUpdate, Turn } from "../../session/agent.ts";
import { Speaker } from "./speaker.ts";

/** A turn whose updates are stored when the test says so. */
function slowTurn() {
  const updates: SessionUpdate[] = [];
  const stored = Promise.withResolvers<void>();
  const update = (said: SessionUpdate): Promise<void> => {
    updates.push(said);
    return stored.promise;
  };
  const turn = { update, client: { notices: false } } as unknown as Turn;
  const text = (): string =>
    updates.map(({ content }) => (content as { text: string }).text).join("");
  return { speaker: new Speaker(turn), updates, text, stored };
}

describe("Speaker", () => {
  it("takes the pieces of a model's answer while the disk has stored none of them", async () => {
    const { speaker, updates, stored } = slowTurn();
    for (let at = 0; at < 1_000; at++) assert.equal(speaker.stream("text", "word "), undefined);
    assert.equal(speaker.stream("thought", "hm"), undefined);
    assert.equal(updates.length, 1_001);
    assert.equal(updates.at(-1)?.sessionUpdate, "agent_thought_chunk");
    let isSettled = false;
    const settled = speaker.settled().then(() => (isSettled = true));
    await new Promise(setImmediate);
    assert.equal(isSettled, false);
    stored.resolve();
    await settled;
  });

  it("asks the reader of the answer to wait when much is not stored", async () => {
    const { speaker, stored } = slowTurn();
    const waits = Array.from({ length: 20 }, () => speaker.stream("text", "x".repeat(10_000)));
    const waited = waits.filter((wait) => wait !== undefined);
    assert.equal(waited.length, 2);
    stored.resolve();
    await Promise.all(waited);
  });

  it("splits a long piece, and keeps its order", async () => {
    const { speaker, updates, text, stored } = slowTurn();
    stored.resolve();
    const long = "🙂".repeat(20_000);
    await speaker.stream("text", long);
    assert.equal(text(), long);
    assert.equal(updates.length, 3);
  });

  it("reports an answer that cannot be stored, once it is over", async () => {
    const { speaker, stored } = slowTurn();
    assert.equal(speaker.stream("text", "lost"), undefined);
    stored.reject(new Error("The disk is full"));
    await new Promise(setImmediate);
    await assert.rejects(speaker.settled(), /The disk is full/);
  });

  it("continues a line that a model left open with an empty line", async () => {
    const { speaker, text, stored } = slowTurn();
    stored.resolve();
    await speaker.stream("text", "half");
    await speaker.aside("Note");
    assert.equal(text(), "half\n\n_Note_\n\n");
    assert.equal(speaker.said, "half");
  });
});
