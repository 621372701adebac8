import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { readEndpoint } from "./push-hosts.ts";

const NONE = { allowHosts: [], allowPrivate: false };

describe("readEndpoint()", () => {
  it("accepts the push services of browsers, over TLS only", () => {
    for (const host of [
      "fcm.googleapis.com",
      "updates.push.services.mozilla.com",
      "wns2-am3p.notify.windows.com",
      "web.push.apple.com",
    ]) {
      assert.equal(readEndpoint(`https://${host}/send/1`, [NONE]).host, host);
      assert.throws(() => readEndpoint(`http://${host}/send/1`, [NONE]), /must begin with https/);
    }
  });

  it("refuses other hosts, whatever they look like", () => {
    for (const endpoint of [
      "https://169.254.169.254/latest/meta-data",
      "https://localhost/",
      "https://fcm.googleapis.com.evil.example/",
      "https://evilpush.apple.com/",
      "https://fcm.googleapis.com@evil.example/",
      "https://user:secret@fcm.googleapis.com/",
      "file:///etc/passwd",
      "no address",
    ]) {
      assert.throws(() => readEndpoint(endpoint, [NONE]), endpoint);
    }
  });

  it("accepts hosts that are configured, and without TLS only on this machine", () => {
    const own = { allowHosts: ["push.example.org", "*.lan", "127.0.0.1"], allowPrivate: true };
    assert.ok(readEndpoint("https://push.example.org/1", [NONE, own]));
    assert.ok(readEndpoint("https://a.lan/1", [own]));
    assert.ok(readEndpoint("http://127.0.0.1:9000/1", [own]));
    assert.throws(() => readEndpoint("http://push.example.org/1", [own]), /https/);
    const strict = { ...own, allowPrivate: false };
    assert.throws(() => readEndpoint("http://127.0.0.1:9000/1", [strict]), /https/);
  });
});
