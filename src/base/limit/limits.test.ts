import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { limitsFor, MESSAGE_LIMITS, type MessageLimits } from "./limits.ts";

const minute = (limit: number) => ({ limit, windowMs: 60_000 });

describe("limitsFor", () => {
  it("returns the values of the ACP message specification, and the size of a permission request", () => {
    // "Performance Considerations": sizes, rates, timeouts with retry.
    const table: Record<string, MessageLimits> = {
      initialize: { maxSize: 10_240, timeout: 30_000, retry: false },
      "session/new": { maxSize: 51_200, timeout: 60_000, retry: false },
      "session/prompt": { maxSize: 1_048_576, rate: minute(10), timeout: 300_000, retry: false },
      "session/update": { maxSize: 102_400, rate: minute(1000) },
      "session/request_permission": { maxSize: 1_048_576 },
      "fs/read_text_file": { maxSize: 10_485_760, rate: minute(100), timeout: 30_000, retry: true },
      "fs/write_text_file": { maxSize: 10_485_760, rate: minute(50), timeout: 60_000, retry: true },
      "fs/anything": { maxSize: 10_485_760 },
      "fs/a/b": { maxSize: 10_485_760 },
      error: { rate: { limit: 100, windowMs: 1_000 } },
      "session/load": {},
      "session/cancel": {},
      fs: {},
      "fsx/y": {},
      "initialize/x": {},
      "": {},
      toString: {},
      ["__proto__"]: {},
    };
    for (const [method, limits] of Object.entries(table)) {
      assert.deepEqual(limitsFor(method), limits, method);
    }
    const named = Object.keys(MESSAGE_LIMITS).filter((name) => !name.endsWith("/*"));
    assert.deepEqual(
      named.filter((name) => !Object.hasOwn(table, name)),
      [],
    );
  });

  it("takes each field from the most specific name that sets it", () => {
    const overrides = {
      "a/*": { maxSize: 1, timeout: 1 },
      "a/b/*": { timeout: 2 },
      "a/b/c": { retry: true },
    };
    assert.deepEqual(limitsFor("a/x", overrides), { maxSize: 1, timeout: 1 });
    assert.deepEqual(limitsFor("a/b/x", overrides), { maxSize: 1, timeout: 2 });
    assert.deepEqual(limitsFor("a/b/c", overrides), { maxSize: 1, timeout: 2, retry: true });
    assert.deepEqual(limitsFor("a", overrides), {});
    assert.deepEqual(limitsFor("ab/c", overrides), {});
  });

  it("prefers the user's values over the specification's, field by field", () => {
    const overrides = { "fs/*": { timeout: 5 }, "session/prompt": { rate: minute(99) } };
    assert.deepEqual(limitsFor("fs/read_text_file", overrides), {
      ...limitsFor("fs/read_text_file"),
      timeout: 5,
    });
    assert.deepEqual(limitsFor("session/prompt", overrides), {
      ...limitsFor("session/prompt"),
      rate: minute(99),
    });
    assert.deepEqual(limitsFor("initialize", overrides), limitsFor("initialize"));
  });

  it("does not depend on the order in which names are set", () => {
    const exact = { "a/b": { maxSize: 1 } };
    const wide = { "a/*": { maxSize: 2 } };
    assert.deepEqual(limitsFor("a/b", { ...exact, ...wide }), { maxSize: 1 });
    assert.deepEqual(limitsFor("a/b", { ...wide, ...exact }), { maxSize: 1 });
  });
});
