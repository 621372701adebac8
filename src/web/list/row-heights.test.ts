import assert from "node:assert/strict";
import { test } from "node:test";

import { RowHeights } from "./row-heights.ts";

test("Heights gives the same places as adding up would, through random changes", () => {
  const heights = new RowHeights(10);
  let plain: number[] = [];
  let seed = 7;
  const random = (below: number): number => {
    seed = (seed * 1_103_515_245 + 12_345) % 2 ** 31;
    return seed % below;
  };
  for (let step = 0; step < 400; step++) {
    const kind = random(4);
    if (kind === 0) {
      const count = random(300);
      plain = [
        ...plain.slice(0, count),
        ...Array<number>(Math.max(0, count - plain.length)).fill(10),
      ];
      heights.resize(count);
    } else if (kind === 1) {
      const count = random(50);
      plain = [...Array<number>(count).fill(10), ...plain];
      heights.prepend(count);
    } else if (plain.length > 0) {
      const index = random(plain.length);
      const height = 1 + random(90);
      assert.equal(heights.set(index, height), height - plain[index]!);
      plain[index] = height;
    }
    assert.equal(heights.count, plain.length);
    const total = plain.reduce((sum, height) => sum + height, 0);
    assert.equal(heights.total, total);
    if (plain.length === 0) continue;
    const index = random(plain.length);
    const offset = plain.slice(0, index).reduce((sum, height) => sum + height, 0);
    assert.equal(heights.offsetOf(index), offset);
    assert.equal(heights.indexAt(offset), index);
    assert.equal(heights.indexAt(offset + plain[index]! - 0.5), index);
    assert.equal(heights.indexAt(total + 5), plain.length - 1);
  }
});
