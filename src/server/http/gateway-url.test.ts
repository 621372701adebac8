import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { readGatewayUrl } from "./gateway-url.ts";

describe("readGatewayUrl()", () => {
  it("keeps a whole address, and completes one without a path", () => {
    for (const whole of ["wss://x.example/acp", "wss://x.example/proxied/acp?agent=goose"]) {
      assert.deepEqual(readGatewayUrl(whole), { url: whole });
    }
    assert.equal(readGatewayUrl("wss://x.example").url, "wss://x.example/acp");
    assert.equal(readGatewayUrl("wss://x.example/?agent=a").url, "wss://x.example/acp?agent=a");
  });

  it("says what may be meant", () => {
    assert.throws(() => readGatewayUrl("https://x.example/"), /mean 'wss:\/\/x\.example\/acp'/);
    assert.throws(() => readGatewayUrl("http://x.example:1"), /mean 'ws:\/\/x\.example:1\/acp'/);
    for (const wrong of ["x", "x.example:4180", "ftp://x/", ""]) {
      assert.throws(() => readGatewayUrl(wrong), /give a URL such as wss:/, wrong);
    }
  });

  it("warns where others could listen, not on this machine", () => {
    assert.match(readGatewayUrl("ws://x.example/acp").warning ?? "", /not encrypted/);
    for (const local of ["ws://127.0.0.1:4180/acp", "ws://localhost/acp", "ws://[::1]:1/acp"]) {
      assert.equal(readGatewayUrl(local).warning, undefined);
    }
  });
});
