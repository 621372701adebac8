import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { RateLimiter } from "../base/limit/rate-limiter.ts";
import { refuse } from "./route.ts";

describe("refuse", () => {
  it("allows calls without a limit", () => {
    assert.equal(refuse({ name: "m" }, { any: "thing" }, "x".repeat(1_000_000)), undefined);
  });

  it("counts the bytes of a message exactly", () => {
    const route = { name: "m", maxSize: 9 };
    for (const text of ["123456789", "日日日", "🙂🙂x", "éééé1"]) {
      assert.equal(refuse(route, {}, text), undefined, text);
      const refusal = refuse(route, {}, `${text}!`);
      assert.equal(refusal?.code, -32600);
      assert.deepEqual(refusal.data, { size: 10, limit: 9 });
    }
  });

  it("leaves out what does not count", () => {
    const route = { name: "m", maxSize: 9, uncounted: () => 5 };
    assert.equal(refuse(route, {}, "x".repeat(14)), undefined);
    assert.deepEqual(refuse(route, {}, "x".repeat(15))?.data, { size: 10, limit: 9 });
  });

  it("checks the parameters before it counts a call", () => {
    const rate = new RateLimiter({ limit: 1, windowMs: 60_000 });
    const good = {};
    const check = (value: unknown) =>
      value === good ? undefined : { path: ["a", 0, "b c"], says: "must be one" };
    const route = { name: "m", rate, check };
    for (let i = 0; i < 3; i++) {
      const refusal = refuse(route, {}, "");
      assert.equal(refusal?.code, -32602);
      assert.match(refusal.message, /'params\.a\[0\]\["b c"\]' must be one/);
    }
    assert.equal(refuse(route, good, ""), undefined);
    const refusal = refuse(route, good, "");
    assert.equal(refusal?.code, -32029);
    assert.ok((refusal.data as { retryAfterMs: number }).retryAfterMs > 0);
  });

  it("refuses parameters that are neither an object nor an array, with or without a check", () => {
    for (const params of [5, "x", true]) {
      assert.equal(refuse({ name: "m" }, params, "")?.code, -32602);
      assert.equal(refuse({ name: "m", check: () => undefined }, params, "")?.code, -32602);
    }
    for (const params of [{}, []]) assert.equal(refuse({ name: "m" }, params, ""), undefined);
  });

  it("does not count calls that are free, nor refuse them", () => {
    const rate = new RateLimiter({ limit: 1, windowMs: 60_000 });
    const isFree = (params: unknown) => (params as { free?: boolean }).free === true;
    const route = { name: "m", rate, isFree };
    const codes = [{ free: true }, { free: true }, {}, {}, { free: true }].map(
      (params) => refuse(route, params, "")?.code,
    );
    assert.deepEqual(codes, [undefined, undefined, undefined, -32029, undefined]);
  });

  it("counts each key separately, and calls without a key together", () => {
    const rate = new RateLimiter({ limit: 1, windowMs: 60_000 });
    const key = (params: unknown) => (params as { key?: string }).key;
    const route = { name: "m", rate, key };
    const codes = [{ key: "a" }, { key: "b" }, { key: "a" }, {}, {}].map(
      (params) => refuse(route, params, "")?.code,
    );
    assert.deepEqual(codes, [undefined, undefined, -32029, undefined, -32029]);
  });
});
