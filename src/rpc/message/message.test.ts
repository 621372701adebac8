import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { classify } from "./message.ts";

const kindOf = (message: object, nullIdIsNotification = false) =>
  classify(message, JSON.stringify(message), { nullIdIsNotification });

describe("classify()", () => {
  it("tells requests, notifications and answers apart (JSON-RPC 2.0 § 4 and § 5)", () => {
    const base = { jsonrpc: "2.0" };
    assert.deepEqual(kindOf({ ...base, id: 1, method: "m" }), {
      ...{ kind: "request", id: 1, method: "m", params: {} },
    });
    assert.equal(kindOf({ ...base, method: "m", params: [1] }).kind, "notification");
    assert.equal(kindOf({ ...base, id: 1, result: null }).kind, "answer");
    assert.equal(kindOf({ ...base, id: null, error: {} }).kind, "answer");
    // Something asked for is asked for, whatever else is beside it.
    assert.equal(kindOf({ ...base, id: 1, method: "m", result: 1 }).kind, "request");
  });

  it("treats a null id as a notification only if the dialect does", () => {
    const message = { jsonrpc: "2.0", id: null, method: "m" };
    assert.equal(kindOf(message, true).kind, "notification");
    assert.deepEqual(kindOf(message), {
      ...{ kind: "invalid", id: "null", why: "'id' must be a string or a number" },
    });
  });

  it("reports what is wrong, under the id if there is one", () => {
    const wrong: readonly (readonly [message: object, id: unknown, why: RegExp])[] = [
      [[1], "null", /must be an object/],
      [{ jsonrpc: "2.0", id: 7 }, 7, /'method' is missing/],
      [{ jsonrpc: "2.0", id: 7, method: 8 }, 7, /'method' must be a string/],
      [{ id: "a", method: "m" }, '"a"', /'jsonrpc' must be "2.0"/],
      [{ jsonrpc: "1.0", method: "m" }, "null", /'jsonrpc' must be "2.0"/],
      [{ jsonrpc: "2.0", id: true, method: "m" }, "null", /'id' must be/],
      [{ jsonrpc: "2.0", id: "x".repeat(513), method: "m" }, "null", /longer than 512/],
    ];
    for (const [message, id, why] of wrong) {
      const found = kindOf(message);
      assert.ok(found.kind === "invalid", JSON.stringify(message));
      assert.equal(found.id, id);
      assert.match(found.why, why);
    }
  });

  it("treats null parameters as none", () => {
    const found = kindOf({ jsonrpc: "2.0", id: 1, method: "m", params: null });
    assert.ok(found.kind === "request");
    assert.deepEqual(found.params, {});
  });
});
