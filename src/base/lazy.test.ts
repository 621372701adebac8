import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { Lazy } from "./lazy.ts";

describe("Lazy", () => {
  it("opens once for all callers, and again after a failure", async () => {
    let count = 0;
    const lazy = new Lazy(async () => {
      if (++count < 3) throw new Error(`failure ${count}`);
      return count;
    });
    assert.equal(await lazy.opened(), undefined);
    const both = await Promise.allSettled([lazy.get(), lazy.get()]);
    assert.deepEqual(
      both.map(({ status }) => status),
      ["rejected", "rejected"],
    );
    assert.equal(await lazy.opened(), undefined);
    await assert.rejects(lazy.get(), /failure 2/);
    assert.deepEqual(await Promise.all([lazy.get(), lazy.get(), lazy.opened()]), [3, 3, 3]);
  });
});
