import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { hostOf, isLoopbackAddress, isLoopbackAuthority } from "../access/refuse-foreign.ts";

describe("isLoopbackAddress()", () => {
  it("recognises addresses that only this machine reaches", () => {
    for (const host of ["localhost", "::1", "127.0.0.1", "127.255.0.9"]) {
      assert.equal(isLoopbackAddress(host), true, host);
    }
  });

  it("rejects names that only look like loopback", () => {
    const others = ["0.0.0.0", "::", "127.0.0.1.example.com", "127.1", "localhost.example.com", ""];
    for (const host of others) assert.equal(isLoopbackAddress(host), false, host);
  });
});

describe("hostOf()", () => {
  it("leaves out the port, brackets and case", () => {
    const hosts = ["LocalHost:4180", "localhost", "[::1]:80", "[::1]", "a.example:"].map(hostOf);
    assert.deepEqual(hosts, ["localhost", "localhost", "::1", "::1", "a.example"]);
  });

  it("finds no host in an invalid authority", () => {
    for (const text of ["", "a b", "user@localhost", "localhost/x", "::1", "a:123456", "[::1"]) {
      assert.equal(hostOf(text), undefined, text);
      assert.equal(isLoopbackAuthority(text), false, text);
    }
  });
});
