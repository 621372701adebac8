import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { FailedAttempts } from "./access.ts";

describe("FailedAttempts", () => {
  it("makes an address wait that fails too often, and no other", () => {
    let now = 0;
    const attempts = new FailedAttempts(() => now);
    for (let count = 1; count <= 20; count++) {
      assert.equal(attempts.wait("192.0.2.1"), 0);
      assert.equal(attempts.add("192.0.2.1"), count);
    }
    assert.equal(attempts.wait("192.0.2.1"), 60);
    assert.equal(attempts.wait("192.0.2.2"), 0);
    now = 59_500;
    assert.equal(attempts.wait("192.0.2.1"), 1);
    now = 60_000;
    assert.equal(attempts.wait("192.0.2.1"), 0);
    assert.equal(attempts.add("192.0.2.1"), 1);
  });

  it("counts all addresses of one IPv6 network as one", () => {
    const attempts = new FailedAttempts(() => 0);
    for (let count = 0; count < 20; count++) attempts.add(`2001:db8:0:1::${count.toString(16)}`);
    assert.equal(attempts.wait("2001:db8:0:1:ffff::1"), 60);
    assert.equal(attempts.wait("2001:db8:0:2::1"), 0);
    for (let count = 0; count < 20; count++) attempts.add(`::ffff:192.0.2.${count}`);
    assert.equal(attempts.wait("::ffff:192.0.2.1"), 0);
  });

  it("remembers a limited number of addresses", () => {
    let now = 0;
    const attempts = new FailedAttempts(() => now);
    for (let count = 0; count < 30_000; count++) attempts.add(`address ${count}`);
    assert.equal(attempts.size, 10_000);
    now = 60_000;
    attempts.add("one");
    assert.equal(attempts.size, 1);
  });
});
