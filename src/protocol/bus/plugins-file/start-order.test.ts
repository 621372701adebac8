import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { covers } from "../../../../test/support/requirement.ts";
import { SeededRandom } from "../../../../test/support/seeded-random.ts";
import { startOrder } from "./start-order.ts";

function ids(plugins: Readonly<Record<string, readonly string[]>>): string[][] {
  const entries = Object.entries(plugins).map(([id, dependsOn]) => ({ id, dependsOn }));
  return startOrder(entries).map((wave) => wave.map(({ id }) => id));
}

describe("startOrder()", () => {
  it("starts dependencies first, and otherwise keeps the order", () => {
    covers("bus.plugins-file.order");
    assert.deepEqual(ids({}), []);
    assert.deepEqual(ids({ b: [], a: [] }), [["b", "a"]]);
    assert.deepEqual(ids({ ui: ["tools", "store"], tools: ["store"], store: [], other: [] }), [
      ["store", "other"],
      ["tools"],
      ["ui"],
    ]);
  });

  it("ignores dependencies that do not exist", () => {
    assert.deepEqual(ids({ a: ["nobody"], b: ["a", "a"] }), [["a"], ["b"]]);
  });

  it("names only the plugins of a circle", () => {
    assert.throws(() => ids({ z: ["a"], a: ["b"], b: ["free", "c"], c: ["a"], free: [] }), {
      code: "config",
      message:
        "Plugins need each other in a circle: a → b → c → a. Remove one of these from 'depends_on'",
    });
    assert.throws(() => ids({ a: ["a"] }), { message: /circle: a → a\./ });
  });

  it("orders every set of plugins without a circle", () => {
    const random = new SeededRandom(5);
    for (let round = 0; round < 200; round++) {
      const plugins = Array.from({ length: 1 + random.below(12) }, (_, index) => ({
        id: `p${index}`,
        dependsOn: Array.from(
          { length: random.below(3) },
          () => `p${random.below(index + 1)}`,
        ).filter((id) => id !== `p${index}`),
      }));
      const order = startOrder(plugins.toReversed()).flat();
      assert.equal(order.length, plugins.length);
      const position = new Map(order.map(({ id }, index) => [id, index]));
      for (const { id, dependsOn } of order) {
        for (const needed of dependsOn) {
          assert.ok((position.get(needed) ?? 0) < (position.get(id) ?? 0), `round ${round}`);
        }
      }
    }
  });
});
