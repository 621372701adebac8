import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { TrunklineError } from "../../base/errors.ts";
import { modelFailure } from "./ask-model.ts";

const answered = (statusCode: number, message = "", more: object = {}) =>
  modelFailure(Object.assign(new Error(message), { statusCode, ...more }));

describe("modelFailure()", () => {
  for (const [status, message, kind] of [
    [401, "bad key", "key"],
    [403, "", "key"],
    [429, "slow down", "rate"],
    [429, "insufficient_quota", "final"],
    [402, "pay first", "final"],
    [400, "This model's maximum context length is 8192 tokens", "overflow"],
    [413, "", "overflow"],
    [400, "prompt is too long: 300000 tokens", "overflow"],
    [400, "image input is not supported", "final"],
    [500, "image input is not supported - hint: mmproj", "final"],
    [400, "bad request", "final"],
    [404, "no such model", "final"],
    [408, "", "passing"],
    [409, "", "passing"],
    [503, "context length", "passing"],
    [529, "overloaded", "passing"],
    [200, "stream broke", "passing"],
  ] as const) {
    it(`classifies status ${status} with '${message}' as '${kind}'`, () => {
      assert.equal(answered(status, message).kind, kind);
    });
  }

  it("reads in each form how long a provider asks to wait", () => {
    const wait = (responseHeaders: Record<string, string>) =>
      answered(429, "", { responseHeaders }).retryAfter;
    assert.equal(wait({ "retry-after-ms": "250", "retry-after": "9" }), 250);
    assert.equal(wait({ "retry-after": "2" }), 2_000);
    const inAMinute = wait({ "retry-after": new Date(Date.now() + 60_000).toUTCString() }) ?? 0;
    assert.ok(inAMinute > 50_000 && inAMinute <= 60_000);
    assert.equal(wait({ "retry-after": "-1" }), undefined);
    assert.equal(wait({ "retry-after": "soon" }), undefined);
    assert.equal(wait({}), undefined);
  });

  it("finds the original error inside the wrappers of libraries", () => {
    const cause = Object.assign(new Error("connect"), { code: "ECONNREFUSED" });
    const wrapped = { lastError: new Error("fetch failed", { cause }) };
    assert.match(modelFailure(wrapped).says, /cannot be reached \(ECONNREFUSED\)/);
    assert.match(modelFailure(new Error("fetch failed", { cause })).says, /ECONNREFUSED/);
    assert.deepEqual(modelFailure("boom"), { kind: "passing", says: "broke off: boom" });
    assert.equal(modelFailure(undefined).kind, "passing");
  });

  it("keeps our own messages, and treats a library's refusal as final", () => {
    const silent = new TrunklineError("timeout", "said nothing for 3 s");
    assert.deepEqual(modelFailure(silent), { kind: "passing", says: "said nothing for 3 s" });
    const refused = Object.assign(new Error("'file part' functionality not supported."), {
      name: "AI_UnsupportedFunctionalityError",
    });
    assert.equal(modelFailure(refused).kind, "final");
  });

  it("shows no secret and at most one sentence of a provider's message", () => {
    const { says } = answered(400, `your key ghp_${"a1".repeat(18)} is bad ${"x".repeat(5_000)}`);
    assert.doesNotMatch(says, /ghp_/);
    assert.ok(says.length < 700);
  });
});
