import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { sampleServing } from "../../../test/samples/sample-serving.ts";
import { clearTextWarning } from "./serving.ts";

const HTTPS = { publicUrl: "https://tools.example.com/" };
const ISSUER = "https://login.example.com";

describe("resolveServing()", () => {
  it("always requires a proof if others can reach the gateway", () => {
    for (const host of ["0.0.0.0", "::", "192.0.2.7", "box.lan", "127.1", "::ffff:127.0.0.1"]) {
      assert.equal(sampleServing(host).isOpen, true, host);
    }
    for (const host of ["127.0.0.1", "127.8.9.1", "::1", "localhost"]) {
      assert.equal(sampleServing(host).isOpen, false, host);
      // A proxy on this machine passes on what comes from elsewhere.
      assert.equal(sampleServing(host, HTTPS).isOpen, true, host);
      assert.equal(sampleServing(host, { publicUrl: "http://localhost:4180" }).isOpen, false, host);
    }
  });

  it("allows --no-auth only if nobody else can reach the gateway", () => {
    assert.equal(sampleServing("127.0.0.1", {}, { noAuth: true }).noAuth, true);
    for (const [host, serve] of [
      ["0.0.0.0", {}],
      ["192.0.2.7", {}],
      ["127.0.0.1", HTTPS],
    ] as const) {
      assert.throws(() => sampleServing(host, serve, { noAuth: true }), { code: "usage" }, host);
    }
  });

  it("gives the audience of tokens, and the address of the metadata", () => {
    const oauth = { authorizationServers: [ISSUER], audience: "api" };
    assert.deepEqual(sampleServing("::", { ...HTTPS, oauth }).oauth, {
      authorizationServers: [ISSUER],
      scopes: [],
      grants: ["tools", "sessions", "review", "dashboard"],
      audiences: ["https://tools.example.com/mcp", "api"],
      resource: "https://tools.example.com/mcp",
      metadataUrl: "https://tools.example.com/.well-known/oauth-protected-resource/mcp",
    });
  });

  it("refuses contradictory settings", () => {
    const oauth = { authorizationServers: [ISSUER] };
    assert.throws(() => sampleServing("::", { oauth }), /'serve.oauth' needs 'serve.publicUrl'/);
    const clear = { ...HTTPS, oauth: { authorizationServers: ["http://login.example.com"] } };
    assert.throws(() => sampleServing("::", clear), /'http:\/\/login.example.com'.*clear text/);
    for (const publicUrl of ["https://x?a=b", "https://me:pw@x", "https://x/#a", "https://"]) {
      assert.throws(() => sampleServing("::", { publicUrl }), /serve.publicUrl/, publicUrl);
    }
    for (const origin of ["https://x/app", "https://me@x"]) {
      const allowed = { allowedOrigins: [origin] };
      assert.throws(() => sampleServing("::", allowed), /serve.allowedOrigins/, origin);
    }
  });
});

describe("clearTextWarning()", () => {
  it("warns only if tokens travel in clear text", () => {
    const tls = { certFile: "/c", keyFile: "/k" };
    assert.match(clearTextWarning(sampleServing("0.0.0.0")) ?? "", /clear text/);
    assert.match(
      clearTextWarning(sampleServing("::", { publicUrl: "http://box" })) ?? "",
      /clear text/,
    );
    assert.equal(clearTextWarning(sampleServing("127.0.0.1")), undefined);
    assert.equal(clearTextWarning(sampleServing("0.0.0.0", { tls })), undefined);
    assert.equal(clearTextWarning(sampleServing("0.0.0.0", HTTPS)), undefined);
  });
});
