import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { isLocal, refuseForeign } from "./refuse-foreign.ts";
import { sampleServing } from "./sample-serving.ts";

const LOCAL = sampleServing("127.0.0.1");
const OPEN = sampleServing("0.0.0.0", {
  publicUrl: "https://tools.example.com",
  allowedHosts: ["Inside.example.com"],
  allowedOrigins: ["https://app.example.com", "http://dev.example.com:8080/"],
});

describe("refuseForeign()", () => {
  it("goes by the name in Host", () => {
    const all = ["127.0.0.1:4180", "localhost", "LOCALHOST:1", "[::1]:4180", "[::1]"];
    for (const host of all) {
      assert.equal(refuseForeign({ host }, LOCAL), undefined, host);
      assert.equal(refuseForeign({ host }, OPEN), undefined, host);
    }
    const open = ["tools.example.com", "TOOLS.example.com:443", "inside.example.com", "0.0.0.0"];
    for (const host of [...open, "192.0.2.7:80", "[2001:db8::1]:80"]) {
      assert.match(refuseForeign({ host }, LOCAL) ?? "", /is not this machine/, host);
      assert.equal(refuseForeign({ host }, OPEN), undefined, host);
    }
  });

  it("is not taken in by names that look like ours", () => {
    const tricks = [
      ...["", "evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "evil.localhost"],
      ...["localhost@evil.example", "evil.example#localhost", "localhost/", "localhost evil"],
      ...["[::1", "[::1x", "[::1]evil", "::1", "localhost:80:80", "localhost:x", "[localhost]"],
      ...["tools.example.com.evil.example", "xtools.example.com", "tools.example.com."],
    ];
    for (const host of tricks) {
      assert.match(refuseForeign({ host }, LOCAL) ?? "", /is not this machine/, host);
      assert.match(refuseForeign({ host }, OPEN) ?? "", /is not this machine/, host);
    }
    assert.match(refuseForeign({}, OPEN) ?? "", /is not this machine/);
  });

  it("lets pages of this machine in on loopback, and elsewhere those that are named", () => {
    const host = "localhost:4180";
    for (const origin of ["http://localhost:5173", "http://127.0.0.1", "https://[::1]:8"]) {
      assert.equal(refuseForeign({ host, origin }, LOCAL), undefined, origin);
      assert.match(refuseForeign({ host, origin }, OPEN) ?? "", /is not allowed/, origin);
    }
    const named = ["https://app.example.com", "http://dev.example.com:8080"];
    for (const origin of [...named, "https://tools.example.com", "http://localhost:4180"]) {
      assert.equal(refuseForeign({ host, origin }, OPEN), undefined, origin);
    }
    const tricks = [
      ...["null", "", "*", "https://evil.example", "https://app.example.com.evil.example"],
      ...["https://app.example.com@evil.example", "http://app.example.com", "app.example.com"],
      ...["https://app.example.com:444", "https://app.example.com, https://evil.example"],
      ...["https://app.example.com/x", "HTTPS://APP.EXAMPLE.COM", "http://localhost.evil.example"],
      ...["http://localhost@evil.example", "http://localhost:5173/", "file://", "file://localhost"],
    ];
    for (const origin of tricks) {
      assert.match(refuseForeign({ host, origin }, OPEN) ?? "", /is not allowed/, origin);
      assert.match(refuseForeign({ host, origin }, LOCAL) ?? "", /is not allowed/, origin);
    }
  });
});

describe("isLocal()", () => {
  it("knows what a proxy passed on, and what was meant for another name", () => {
    const host = "127.0.0.1:4180";
    assert.equal(isLocal({ host }), true);
    for (const header of ["forwarded", "x-forwarded-for", "x-real-ip", "via"]) {
      assert.equal(isLocal({ host, [header]: "" }), false, header);
    }
    assert.equal(isLocal({ host: "tools.example.com" }), false);
    assert.equal(isLocal({}), false);
  });
});
