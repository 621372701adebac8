import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { AT_ONCE, retainedBy } from "../../test/support/retained-heap.ts";
import { Chain, type Link } from "./chain.ts";

class Item implements Link<Item> {
  readonly name: string;
  before: Item | undefined;
  after: Item | undefined;

  constructor(name: string) {
    this.name = name;
  }
}

function chainOf(...names: string[]): { chain: Chain<Item>; items: Item[]; list: () => string } {
  const chain = new Chain<Item>();
  const items = names.map((name) => new Item(name));
  for (const item of items) chain.add(item);
  return {
    chain,
    items,
    list: () =>
      chain
        .all()
        .map(({ name }) => name)
        .join(" "),
  };
}

describe("Chain", () => {
  it("keeps items in the order in which they were added, wherever one leaves", () => {
    for (const [at, rest, first, last] of [
      [0, "b c", "b", "c"],
      [1, "a c", "a", "c"],
      [2, "a b", "a", "b"],
    ] as const) {
      const { chain, items, list } = chainOf("a", "b", "c");
      const item = items[at] as Item;
      assert.ok(chain.delete(item));
      assert.equal(list(), rest);
      assert.equal(chain.first?.name, first);
      assert.equal(chain.last?.name, last);
      assert.equal(chain.size, 2);
      chain.add(item);
      assert.equal(list(), `${rest} ${item.name}`);
    }
  });

  it("has an item once, and lets one leave once", () => {
    const { chain, items, list } = chainOf("a");
    const [only] = items as [Item];
    chain.add(only);
    assert.equal(list(), "a");
    assert.ok(chain.has(only));
    assert.ok(chain.delete(only));
    assert.ok(!chain.delete(only));
    assert.ok(!chain.has(only));
    assert.deepEqual([chain.size, chain.first, chain.last], [0, undefined, undefined]);
  });

  it("is empty once it is cleared", () => {
    const { chain, items, list } = chainOf("a", "b");
    chain.clear();
    assert.equal(list(), "");
    for (const item of items) assert.ok(!chain.has(item));
  });

  it("refers to nothing of what has left after a collection of the young heap", () => {
    const chain = new Chain<Item>();
    const { bytes, limit } = retainedBy(
      (words) => {
        const item = Object.assign(new Item("call"), { words });
        chain.add(item);
        return item;
      },
      (item) => chain.delete(item),
    );
    assert.ok(bytes < limit, `${bytes} bytes are left`);
    assert.equal(chain.size, AT_ONCE);
  });
});
