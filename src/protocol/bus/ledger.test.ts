import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { type IncompleteExchange, Ledger, OverLimitError } from "./serve.ts";

function exchange(givenUp: string[], name: string): IncompleteExchange {
  return { giveUp: () => void givenUp.push(name) };
}

describe("Ledger", () => {
  it("aborts the oldest unfinished request when there is one too many", () => {
    const ledger = new Ledger({ exchanges: 2, bytes: 100 });
    const lost: string[] = [];
    const [first, second, third] = ["first", "second", "third"].map((name) => exchange(lost, name));
    assert.ok(first && second && third);
    ledger.begin(first);
    ledger.begin(second);
    // It has come whole, and is no longer one of those that are waited for.
    ledger.run(first);
    ledger.begin(third);
    assert.deepEqual(lost, []);
    ledger.begin(exchange(lost, "fourth"));
    assert.deepEqual(lost, ["second"]);
  });

  it("limits running requests and bytes; a refused request is not counted", () => {
    const ledger = new Ledger({ exchanges: 1, bytes: 10 });
    const [first, second] = [exchange([], "first"), exchange([], "second")];
    ledger.run(first);
    assert.throws(() => ledger.run(second), OverLimitError);
    ledger.done();
    ledger.run(second);
    ledger.take(10);
    assert.throws(() => ledger.take(1), { code: "limit", message: /over 10 bytes/ });
    assert.equal(ledger.bytes, 10);
    ledger.give(10);
    ledger.done();
    assert.equal(ledger.isIdle, true);
  });

  it("forgets a request that was aborted", () => {
    const ledger = new Ledger({ exchanges: 1, bytes: 10 });
    const one = exchange([], "one");
    ledger.begin(one);
    assert.equal(ledger.isIdle, false);
    ledger.end(one);
    assert.equal(ledger.isIdle, true);
  });
});
