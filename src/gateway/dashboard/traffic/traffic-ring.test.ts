import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { SeededRandom } from "../../../../test/support/seeded-random.ts";
import { TrafficRing } from "./traffic-ring.ts";

describe("TrafficRing", () => {
  it("keeps a bounded number of messages", () => {
    const ring = new TrafficRing({ messages: 10, bytes: 1_000_000 });
    const editor = ring.connection("client", "client");
    assert.deepEqual([ring.all, ring.last], [[], 0]);
    for (let at = 1; at <= 35; at++) editor.message(`message ${at}`, at % 2 === 0 ? "in" : "out");
    assert.deepEqual(
      ring.all.map(({ n, text, direction }) => [n, text, direction]),
      Array.from({ length: 10 }, (_, at) => [26 + at, `message ${26 + at}`, at % 2 ? "out" : "in"]),
    );
    assert.equal(ring.last, 35);
  });

  it("keeps the start of a very long one", () => {
    const ring = new TrafficRing();
    ring.connection("client", "").message("y".repeat(1_000_000), "out");
    const [kept] = ring.all;
    assert.deepEqual([kept?.text.length, kept?.size], [4096, 1_000_000]);
  });

  it("keeps the newest whole, whatever their lengths are, in a bounded number of bytes", () => {
    const random = new SeededRandom(7);
    const bytes = 1_000_000;
    const ring = new TrafficRing({ messages: 300, bytes });
    const said: string[] = [];
    const connections = ["a", "b"].map((name) => ring.connection("agent", name));
    for (let round = 0; round < 1_500; round++) {
      const length = random.pick([0, 1, 50, 3_000, 60_000, 200_000]);
      const text = `${round}${random.pick(["x", "\u00e9", "\u20ac", "\u{1f600}"]).repeat(random.below(length + 1))}`;
      said.push(text);
      connections[round % 2]?.line(text);
      if (round % 50 !== 49) continue;
      const { all } = ring;
      assert.equal(all.at(-1)?.n, round + 1);
      const held = all.reduce((sum, each) => sum + Buffer.byteLength(each.text), 0);
      assert.ok(all.length <= 300 && held <= bytes);
      for (const [at, { n, text: kept, size, isLine, connection }] of all.entries()) {
        assert.equal(n, round + 2 - all.length + at);
        const whole = said[n - 1] ?? "";
        assert.ok(
          kept === whole || (whole.length > 256 * 1024 && whole.startsWith(kept.slice(0, 4000))),
        );
        assert.deepEqual(
          [size, isLine, connection],
          [whole.length, true, connections[(n - 1) % 2]],
        );
      }
    }
  });
});
