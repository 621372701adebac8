import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { SampleFolder } from "../../../test/samples/sample-folder.ts";
import { OwnerToken } from "../../store/access/access-token.ts";
import { announceGateway } from "../../store/access/running-gateways.ts";
import { addressForOthers, loginLinkFor, ownerTokenFor, pairingLinkFor } from "./local-gateway.ts";

const HERE = { url: "http://127.0.0.1:4180", browser: "http://localhost:4180" };
const NAMED = { url: "http://127.0.0.1:4181", browser: "https://tools.example.com" };

describe("ownerTokenFor()", () => {
  it("returns the token for a running gateway of this data folder, and its address", async () => {
    await using folder = await SampleFolder.create();
    await new OwnerToken(folder.path).ensure();
    const token = new OwnerToken(folder.path).read();
    using _gateway = await announceGateway(folder.path, HERE);
    const found = await ownerTokenFor(folder.path, "ws://localhost:4180/acp");
    assert.deepEqual(found, { url: "ws://127.0.0.1:4180/acp", token });
  });

  it("returns nothing for any other address", async () => {
    await using folder = await SampleFolder.create();
    await new OwnerToken(folder.path).ensure();
    using _gateway = await announceGateway(folder.path, HERE);
    using _named = await announceGateway(folder.path, NAMED);
    for (const address of [
      "ws://localhost:4182/acp",
      "ws://example.com:4180/acp",
      "ws://127.0.0.1.example.com:4180/acp",
      "not an address",
    ]) {
      assert.equal(await ownerTokenFor(folder.path, address), undefined, address);
    }
    const named = await ownerTokenFor(folder.path, "wss://tools.example.com/acp");
    assert.equal(named?.url, "wss://tools.example.com/acp");
  });

  it("returns nothing once the gateway has stopped, or if there is no token", async () => {
    await using folder = await SampleFolder.create();
    {
      using _gateway = await announceGateway(folder.path, HERE);
      assert.equal(await ownerTokenFor(folder.path, HERE.url), undefined);
      await new OwnerToken(folder.path).ensure();
      assert.notEqual(await ownerTokenFor(folder.path, HERE.url), undefined);
    }
    assert.equal(await ownerTokenFor(folder.path, HERE.url), undefined);
  });
});

describe("loginLinkFor()", () => {
  it("creates a link for the browser, and says what to do if no gateway runs", async () => {
    await using folder = await SampleFolder.create();
    await assert.rejects(loginLinkFor(folder.path), {
      code: "unavailable",
      message: /none is running with the data folder .* Start it with `trunkline serve`/,
    });
    using _gateway = await announceGateway(folder.path, HERE);
    assert.match(await loginLinkFor(folder.path), /^http:\/\/localhost:4180\/login#[\w-]{16,}$/);
  });
});

describe("addressForOthers()", () => {
  const started = "";
  const address = (ip: string, internal: boolean) => ({
    ...{ address: ip, internal, family: "IPv4" as const },
    ...{ netmask: "", mac: "", cidr: null },
  });
  const LAN = { lo: [address("127.0.0.1", true)], eth0: [address("192.168.1.7", false)] };

  it("is the public one, the one it listens on, or one of this machine's network", () => {
    assert.equal(addressForOthers({ ...NAMED, started }, {}), "https://tools.example.com");
    const one = { ...HERE, started, listens: "http://192.168.1.9:4180" };
    assert.equal(addressForOthers(one, LAN), "http://192.168.1.9:4180");
    for (const all of ["https://0.0.0.0:4180", "https://[::]:4180"]) {
      const found = addressForOthers({ ...HERE, started, listens: all }, LAN);
      assert.equal(found, "https://192.168.1.7:4180");
    }
  });

  it("is none for a gateway on loopback, with what to do about it", async () => {
    await using folder = await SampleFolder.create();
    using _gateway = await announceGateway(folder.path, { ...HERE, listens: HERE.url });
    await assert.rejects(pairingLinkFor(folder.path), {
      code: "usage",
      message: /other devices cannot reach it.*`serve\.publicUrl`.*--host 0\.0\.0\.0/,
    });
    const listens = "http://0.0.0.0:4180";
    assert.throws(() => addressForOthers({ ...HERE, started, listens }, {}), /no address/);
  });
});
