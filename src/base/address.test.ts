import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { addressBytes, normalHost, normalPath } from "./address.ts";

describe("normalHost()", () => {
  it("is the same for all spellings of a host", () => {
    assert.equal(normalHost("GitHub.com."), "github.com");
    assert.equal(normalHost("[2001:DB8:0:0::1]"), "2001:db8::1");
    assert.equal(normalHost("10.0.0.1"), "10.0.0.1");
    assert.equal(normalHost("my_host-1"), "my_host-1");
  });

  it("is undefined for what programs could read differently", () => {
    const hosts = [
      ...["", ".", "a..b", "-a", "a b", "a/b", "a%2eb", "github．com", "gıthub.com", "a@b", "a:1"],
      ...["0x7f000001", "127.1", "2130706433", "010.0.0.1", "[fe80::1%25eth0]", "[x]", "a\\b"],
    ];
    for (const host of hosts) assert.equal(normalHost(host), undefined, host);
  });
});

describe("normalPath()", () => {
  it("has one spelling for each character", () => {
    assert.equal(normalPath("/%61cme/a%c3%a4%20b/%7ex.git/"), "/acme/a%C3%A4%20b/~x.git/");
    for (const path of ["", "/", "/a/.git", "a/...", "/a/..b", "/a/b;c"]) {
      assert.equal(normalPath(path), path);
    }
  });

  it("is undefined for a path that could lead elsewhere", () => {
    const paths = [
      ...[
        "/acme/../evil",
        "/acme/..",
        "..",
        "../x",
        "/./x",
        "/acme/%2e%2e/evil",
        "/acme/.%2E/evil",
      ],
      ...["/acme/%252e%252e/evil", "/acme%2f..%2fevil", "/acme%5C..%5Cevil", "/acme\\..\\evil"],
      ...["/acme/..;/evil", "/acme/..;x=1/evil", "//evil", "/acme//evil", "/acme/evil//", "/a%00b"],
      ...["/a?b", "/a#b", "/a b", "/a\nb", "/a%0ab", "/a%zz", "/a%2", "/a%ff", "/a\u200bb"],
    ];
    for (const path of paths) assert.equal(normalPath(path), undefined, path);
  });

  it("takes time in proportion to the length of the path", () => {
    const started = process.threadCpuUsage();
    for (const unit of ["/..;", "%2e", "..", "/", "a/"]) normalPath(unit.repeat(100_000));
    const { user, system } = process.threadCpuUsage(started);
    assert.ok(user + system < 2_000_000, `${user + system} µs`);
  });
});

describe("addressBytes()", () => {
  it("is the same for all spellings of an address", () => {
    const addresses = {
      "127.0.0.1": "7f000001",
      "::1": `${"0".repeat(31)}1`,
      "::": "0".repeat(32),
      "2001:db8::8:800:200c:417a": "20010db80000000000080800200c417a",
      "2001:DB8:0:0:8:800:200C:417A": "20010db80000000000080800200c417a",
      "::ffff:192.0.2.1": "00000000000000000000ffffc0000201",
      "::FFFF:192.0.2.1%eth0": "00000000000000000000ffffc0000201",
      "fe80::": `fe80${"0".repeat(28)}`,
    };
    for (const [address, hex] of Object.entries(addresses)) {
      assert.equal(addressBytes(address).toString("hex"), hex, address);
    }
  });
});
