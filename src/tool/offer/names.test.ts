import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { Names } from "./names.ts";

describe("Names", () => {
  it("never returns a name over 128 characters, however long it is at its server", () => {
    const names = new Names(() => false);
    const given = [1, 2, 3].map((number) => names.give("s", "l".repeat(10_000) + number));
    assert.deepEqual(
      given.map(({ length }) => length),
      [128, 128, 128],
    );
    assert.equal(new Set(given).size, 3);
  });

  it("distinguishes ten thousand names that become the same, without comparing all each time", () => {
    let looks = 0;
    const names = new Names(() => (looks++, false));
    const given = new Set<string>();
    for (let number = 0; number < 10_000; number++) {
      given.add(names.give("s", "l".repeat(200) + number));
    }
    assert.equal(given.size, 10_000);
    assert.ok(looks < 50_000, `looked ${looks} times`);
  });
});
