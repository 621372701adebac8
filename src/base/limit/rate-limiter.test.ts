import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { bytesInUse } from "../../../test/fuzz/memory.ts";
import { SeededRandom } from "../../../test/support/seeded-random.ts";
import { RateLimiter, Throttle } from "./rate-limiter.ts";

/** A limiter whose clock stands still until the test moves it. */
function limiter(limit: number, windowMs: number) {
  const clock = { now: 1000 };
  return { clock, limiter: new RateLimiter({ limit, windowMs }, () => clock.now) };
}

describe("RateLimiter", () => {
  it("lets a key pass a number of times in a window, and says when it may again", () => {
    const { clock, limiter: rate } = limiter(3, 100);
    for (const at of [1000, 1010, 1010]) {
      clock.now = at;
      assert.equal(rate.take("a"), 0);
    }
    clock.now = 1050.5;
    assert.equal(rate.take("a"), 50);
    clock.now = 1099.999;
    assert.equal(rate.take("a"), 1);
    clock.now = 1100;
    assert.equal(rate.take("a"), 0);
    assert.equal(rate.take("a"), 10);
  });

  it("counts each key separately", () => {
    const { limiter: rate } = limiter(1, 100);
    const taken = ["a", "b", "a", "", "__proto__", "__proto__"].map((key) => rate.take(key));
    assert.deepEqual(taken, [0, 0, 100, 0, 0, 100]);
  });

  it("lets nothing pass if the limit is zero", () => {
    const { limiter: rate } = limiter(0, 100);
    assert.deepEqual([rate.take("a"), rate.take("a")], [100, 100]);
  });

  it("lets no more pass than the limit in any window, and refuses no call that fits", () => {
    const random = new SeededRandom(0x4a7e);
    for (let round = 0; round < 60; round++) {
      const limit = 1 + random.below(40);
      const windowMs = 1 + random.below(200);
      const { clock, limiter: rate } = limiter(limit, windowMs);
      const passes: number[] = [];
      for (let call = 0; call < 600; call++) {
        if (random.once(3)) clock.now += random.below(windowMs) / (1 + random.below(20));
        const inWindow = passes.filter((at) => at + windowMs > clock.now).length;
        const wait = rate.take("a");
        assert.equal(wait === 0, inWindow < limit, `limit ${limit}, window ${windowMs}`);
        if (wait === 0) passes.push(clock.now);
        else assert.ok(wait <= windowMs && Number.isInteger(wait));
      }
    }
  });

  it("lets a call pass that waited as long as it was told", () => {
    const random = new SeededRandom(0x3a17);
    const { clock, limiter: rate } = limiter(7, 100);
    for (let call = 0; call < 500; call++) {
      clock.now += random.below(30) / 7;
      const wait = rate.take("a");
      if (wait === 0) continue;
      clock.now += wait;
      assert.equal(rate.take("a"), 0);
    }
  });

  it("forgets keys that have been quiet for a window", () => {
    const { clock, limiter: rate } = limiter(10, 1000);
    const before = bytesInUse();
    let refused = 0;
    for (let i = 0; i < 100_000; i++) {
      clock.now += 1;
      if (rate.take(`session ${i}`) > 0) refused++;
    }
    assert.equal(refused, 0);
    assert.ok(bytesInUse() - before < 5_000_000);
  });

  it("does not grow without limit if a caller invents keys", () => {
    const { clock, limiter: rate } = limiter(10, 1000);
    rate.take("known");
    clock.now += 500;
    const before = bytesInUse();
    let refused = 0;
    for (let i = 0; i < 150_000; i++) if (rate.take(`made up ${i}`) > 0) refused++;
    assert.ok(bytesInUse() - before < 40_000_000);
    assert.ok(refused > 50_000);
    assert.equal(rate.take("known"), 0, "a key that is known is not locked out");
    clock.now += 1000;
    assert.equal(rate.take("new"), 0, "there is room again");
  });

  it("does not store keys that are longer than any name", () => {
    const { limiter: rate } = limiter(100_000, 1000);
    const before = bytesInUse();
    for (let i = 0; i < 1000; i++) rate.take(String(i).padEnd(100_000, "x"));
    assert.ok(bytesInUse() - before < 5_000_000);
  });
});

describe("Throttle", () => {
  it("lets a number of messages of each key pass in a window, and later says how many did not", () => {
    let now = 0;
    const throttle = new Throttle({ limit: 2, windowMs: 10 }, () => now);
    const take = (count: number): (number | undefined)[] =>
      Array.from({ length: count }, () => throttle.take());
    assert.deepEqual(take(4), [0, 0, undefined, undefined]);
    assert.equal(throttle.take("another"), 0);
    now = 9;
    assert.deepEqual(take(1), [undefined]);
    now = 10;
    assert.deepEqual(take(1), [3]);
    now = 20;
    assert.deepEqual(take(1), [0]);
  });
});
