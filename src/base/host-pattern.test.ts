import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { hostFits } from "./host-pattern.ts";

describe("hostFits()", () => {
  it("takes a host, its subdomains, or all", () => {
    assert.ok(hostFits("Example.com", "example.com"));
    assert.ok(hostFits("*.example.com", "a.b.example.com"));
    assert.ok(hostFits("*", "anything"));
    for (const host of ["example.com", "badexample.com", "example.com.evil.test"]) {
      assert.ok(!hostFits("*.example.com", host), host);
    }
    assert.ok(!hostFits("example.com", "a.example.com"));
  });
});
