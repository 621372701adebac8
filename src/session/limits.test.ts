import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { resolveSessionLimits } from "./limits.ts";

describe("resolveSessionLimits()", () => {
  it("has the values of the message specification if nothing is configured", () => {
    const { updateSize, updateRate, ask } = resolveSessionLimits();
    assert.equal(updateSize, 100 * 1024);
    assert.deepEqual(updateRate, { limit: 1_000, windowMs: 60_000 });
    assert.equal(ask("fs/read_text_file").maxSize, 10 * 1024 * 1024);
    assert.equal(ask("fs/read_text_file").retry, true);
    assert.equal(ask("terminal/create").retry, false);
  });

  it("uses configured values, for a method or for sessions in general", () => {
    const { ask, updateSize, idle, cancelGrace } = resolveSessionLimits(
      { "session/update": { maxSize: 7 }, "fs/read_text_file": { timeout: 3 } },
      { idle: 5 },
    );
    assert.deepEqual([updateSize, idle, cancelGrace], [7, 5, 5_000]);
    assert.equal(ask("fs/read_text_file").timeout, 3);
  });

  it("counts the rate of a method once for all callers, and each session separately", () => {
    const { ask } = resolveSessionLimits({
      "fs/read_text_file": { rate: { limit: 1, windowMs: 60_000 } },
    });
    assert.equal(ask("fs/read_text_file").rate?.take("s1"), 0);
    assert.ok((ask("fs/read_text_file").rate?.take("s1") ?? 0) > 0);
    assert.equal(ask("fs/read_text_file").rate?.take("s2"), 0);
  });
});
