import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { testCredentials } from "../../../../test/support/quic-pair.ts";
import { native } from "./native.ts";
import { readCertificates, readKey } from "./tls-context.ts";
import { TlsContext } from "./tls-context.ts";

describe("readCertificates()", () => {
  it("finds all certificates of a text, and skips what is between them", async () => {
    const { ca, cert = "" } = (await testCredentials()).server;
    const found = readCertificates(`${cert}\nSubject: somebody\n${ca}`, "certificate");
    assert.equal(found.length, 2);
    for (const certificate of found) native.X509_free(certificate);
  });

  it("reports text that is not PEM", () => {
    for (const text of [
      "",
      "hello",
      "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
    ]) {
      assert.throws(() => readCertificates(text, "CA"), {
        trouble: "unusable",
        message: /^the CA is no PEM: /,
      });
    }
  });
});

describe("readKey()", () => {
  it("reads a key, and reports anything else", async () => {
    const { key = "", cert = "" } = (await testCredentials()).server;
    native.EVP_PKEY_free(readKey(key));
    assert.throws(() => readKey(cert), { message: /^the private key is no PEM: / });
  });
});

describe("TlsContext", () => {
  it("refuses a certificate with another's key, for servers and for clients", async () => {
    const { server, client } = await testCredentials();
    const mixed = { ...server, key: client.key, alpn: "x" };
    const refused = { trouble: "unusable", message: /certificate and key do not fit/ };
    assert.throws(() => TlsContext.forServer(mixed, "require"), refused);
    assert.throws(() => TlsContext.forClient(mixed), refused);
    using good = TlsContext.forServer({ ...server, alpn: "x" }, "require");
    // One that could not be renewed is as good as before.
    assert.throws(() => good.load({ ca: "none", alpn: "x" }), { trouble: "unusable" });
    good.load({ ...client, alpn: "x" });
  });
});
