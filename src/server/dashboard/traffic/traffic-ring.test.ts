import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { SeededRandom } from "../../../../test/support/seeded-random.ts";
import { TrafficRing } from "./traffic-ring.ts";

describe("TrafficRing", () => {
  it("keeps messages in order, with who sent them", () => {
    const ring = new TrafficRing();
    assert.deepEqual([ring.all, ring.last], [[], 0]);
    const editor = ring.connection("client", "Zed");
    editor.message("a", "in");
    editor.message("b", "out");
    editor.line("c");
    assert.deepEqual(
      ring.all.map(({ at, connection, ...rest }) => ({ ...rest, isNow: at > 0, connection })),
      [
        { n: 1, text: "a", size: 1, direction: "in", isLine: false },
        { n: 2, text: "b", size: 1, direction: "out", isLine: false },
        { n: 3, text: "c", size: 1, direction: "in", isLine: true },
      ].map((each) => ({ ...each, isNow: true, connection: editor })),
    );
    assert.equal(ring.last, 3);
  });

  it("keeps the start of a very long one", () => {
    const ring = new TrafficRing();
    ring.connection("client", "").message("y".repeat(1_000_000), "out");
    const [kept] = ring.all;
    assert.deepEqual([kept?.text.length, kept?.size], [4096, 1_000_000]);
  });

  it("forgets the oldest above a number of messages or characters", () => {
    const random = new SeededRandom(7);
    const limits = { messages: 2_000, characters: 1_000_000 };
    const ring = new TrafficRing(limits);
    const agent = ring.connection("agent", "");
    const said: string[] = [];
    // At first the number is the bound, then the characters are.
    for (let round = 0; round < 8_000; round++) {
      const longest = round < 4_000 ? 20 : 2_000;
      said.push(`${round} ${random.pick(["x", "\u20ac"]).repeat(random.below(longest))}`);
      agent.message(said.at(-1) ?? "", "in");
      if (round % 997 !== 0) continue;
      const { all } = ring;
      const page = { messages: 500, characters: 300_000 };
      const characters = all.reduce((sum, { text }) => sum + text.length, 0);
      assert.ok(all.length < limits.messages + page.messages);
      assert.ok(characters < limits.characters + page.characters);
      const isFull =
        all.length > limits.messages - page.messages ||
        characters > limits.characters - page.characters;
      assert.ok(isFull || all.length === said.length);
      assert.deepEqual(
        all.map(({ n, text }) => [n, text]),
        said.slice(-all.length).map((text, at) => [said.length - all.length + at + 1, text]),
      );
    }
  });
});
