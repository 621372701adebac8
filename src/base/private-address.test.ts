import assert from "node:assert/strict";
import os, { networkInterfaces } from "node:os";
import { describe, it } from "node:test";

import { isOtherMachine, isPrivateAddress } from "./private-address.ts";

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
    "64:ff9b:1::808:808",
    "3fff::1",
    "5f00::1",
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

describe("isOtherMachine()", () => {
  it("takes public addresses and those of private networks", () => {
    for (const address of ["1.1.1.1", "10.255.1.2", "172.16.9.9", "2606:4700:4700::1111"]) {
      assert.equal(isOtherMachine(address), true, address);
    }
  });

  it("takes no address of this machine, nor of a metadata service", () => {
    const own = Object.values(networkInterfaces()).flatMap((each) => each ?? []);
    const addresses = own.map(({ address }) => address);
    const metadata = ["169.254.169.254", "fd00:ec2::254", "100.100.100.200"];
    const loopback = [
      "127.0.0.1",
      "127.9.9.9",
      "::1",
      "0.0.0.0",
      "::ffff:127.0.0.1",
      "::ffff:10.0.0.1",
    ];
    for (const address of [...addresses, ...metadata, ...loopback, "localhost"]) {
      assert.equal(isOtherMachine(address), false, address);
    }
  });

  it("takes no address of IPv6 that carries a public one of this machine", ({ mock }) => {
    const own = { address: "198.41.0.4", family: "IPv4" };
    mock.method(os, "networkInterfaces", () => ({ eth0: [own] }));
    for (const address of ["198.41.0.4", "::ffff:c629:4", "64:ff9b::c629:4", "2002:c629:4::"]) {
      assert.equal(isOtherMachine(address), false, address);
    }
    assert.equal(isOtherMachine("::ffff:c629:5"), true);
  });
});
