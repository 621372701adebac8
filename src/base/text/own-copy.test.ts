import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

import { ownCopy } from "./own-copy.ts";

describe("ownCopy()", () => {
  it("lets go of the text that its text was cut from", () => {
    setFlagsFromString("--expose-gc");
    const collect = runInNewContext("gc") as () => void;
    const heap = (): number => {
      collect();
      return process.memoryUsage().heapUsed;
    };
    const before = heap();
    const kept = Array.from({ length: 100 }, (_, at) => {
      const region = Buffer.alloc(100_000, 65 + (at % 26)).toString();
      return ownCopy(region.slice(at, at + 20));
    });
    // As slices they would keep ten megabytes.
    assert.ok(heap() - before < 2_000_000);
    assert.equal(kept.join("").length, 2_000);
    assert.equal(ownCopy("é 日本 🙂"), "é 日本 🙂");
  });
});
