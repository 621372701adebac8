import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { SampleFolder } from "../../../test/samples/sample-folder.ts";
import { OwnerToken } from "../../store/access/owner-token.ts";
import { announceGateway } from "../../store/access/running-gateways.ts";
import { loginLinkFor, ownerTokenFor } from "./local-gateway.ts";

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
