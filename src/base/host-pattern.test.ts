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

  it("compares normal forms, and takes no host that has none", () => {
    assert.ok(hostFits("Example.com.", "EXAMPLE.com"));
    assert.ok(hostFits("example.com", "example.com."));
    assert.ok(hostFits("[2001:db8:0::1]", "2001:DB8::1"));
    for (const host of ["", "x/.example.com", "0x7f000001", "a@example.com", "exa\u00admple.com"]) {
      for (const pattern of ["*", "*.example.com", "example.com"]) {
        assert.ok(!hostFits(pattern, host), `${pattern} ${host}`);
      }
    }
  });
});
