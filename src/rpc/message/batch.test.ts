import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { Batch } from "../peer.ts";

const topic = (request: string) => ({ request, isAnswer: true });

function collect() {
  const sent: string[] = [];
  return { sent, batch: new Batch((text) => sent.push(text)) };
}

describe("Batch", () => {
  it("sends all answers together, in the order they came, once the last has arrived", () => {
    const { sent, batch } = collect();
    for (let i = 0; i < 3; i++) batch.expect();
    batch.add("1", topic("1"));
    batch.seal();
    batch.add("2", topic("2"));
    assert.deepEqual(sent, []);
    batch.add("3", topic("3"));
    assert.deepEqual(sent, ["[1,2,3]"]);
  });

  it("waits for its end, even if all answers so far have arrived", () => {
    const { sent, batch } = collect();
    batch.expect();
    batch.add("1", topic("1"));
    assert.deepEqual(sent, []);
    batch.expect();
    batch.seal();
    batch.add("2", topic("2"));
    assert.deepEqual(sent, ["[1,2]"]);
  });

  it("sends nothing if no answer is due, and the rest if one is withheld", () => {
    const silent = collect();
    silent.batch.seal();
    silent.batch.expect();
    silent.batch.skip();
    assert.deepEqual(silent.sent, []);
    const { sent, batch } = collect();
    batch.expect();
    batch.expect();
    batch.seal();
    batch.add("1", topic("1"));
    batch.skip();
    assert.deepEqual(sent, ["[1]"]);
  });
});
