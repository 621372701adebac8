import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { isPrivateAddress } from "./private-address.ts";

describe("isPrivateAddress()", () => {
  for (const address of [
    "127.0.0.1",
    "10.1.2.3",
    "172.31.255.255",
    "192.168.0.1",
    "169.254.169.254",
    "100.64.0.1",
    "0.0.0.0",
    "224.0.0.1",
    "255.255.255.255",
    "::",
    "::1",
    "fe80::1%eth0",
    "fd00::1",
    "ff02::1",
    "::ffff:127.0.0.1",
    "::ffff:7f00:1",
    "::ffff:a9fe:a9fe",
    "64:ff9b::10.0.0.1",
    "2002:7f00:1::",
    "localhost",
    "",
    "1.2.3",
  ]) {
    it(`classifies '${address}' as private`, () => {
      assert.equal(isPrivateAddress(address), true);
    });
  }

  for (const address of [
    "1.1.1.1",
    "172.32.0.1",
    "100.128.0.1",
    "2606:4700:4700::1111",
    "::ffff:8.8.8.8",
    "64:ff9b::8.8.8.8",
  ]) {
    it(`classifies '${address}' as public`, () => {
      assert.equal(isPrivateAddress(address), false);
    });
  }
});
