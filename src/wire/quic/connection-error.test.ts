import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { ConnectionError, tlsTrouble, withCertificates } from "./connection-error.ts";

describe("ConnectionError.of()", () => {
  it("says what could not be done, why, who said so, and what to do", () => {
    const error = ConnectionError.of("Cannot dial x", {
      ...{ trouble: "expired", detail: "the certificate is expired", byPeer: true, code: 7 },
    });
    assert.equal(
      error.message,
      "Cannot dial x: the certificate is expired, said by the other side. Make a new certificate, and check the clocks of both machines.",
    );
    assert.deepEqual([error.code, error.peerCode], ["unavailable", 7]);
  });

  it("has its own message if there is no reason, and no code but the peer's", () => {
    const closed = ConnectionError.of("Cannot go on", { trouble: "closed", detail: "", code: 9 });
    assert.equal(closed.message, "Cannot go on: it was closed.");
    assert.deepEqual([closed.code, closed.peerCode], ["closed", undefined]);
    const bare = ConnectionError.of("Cannot go on", { trouble: "reset", detail: "" });
    assert.equal(bare.message, "Cannot go on: reset.");
  });

  it("has the code by which callers decide", () => {
    const codes = {
      timeout: "timeout",
      silent: "timeout",
      full: "limit",
      unusable: "config",
    } as const;
    for (const [trouble, code] of Object.entries(codes)) {
      const name = trouble as keyof typeof codes;
      assert.equal(new ConnectionError(name, "").code, code);
    }
  });
});

describe("tlsTrouble()", () => {
  it("maps Node's TLS and TCP errors", () => {
    const named: readonly (readonly [code: string, trouble: string])[] = [
      ["ERR_TLS_CERT_ALTNAME_INVALID", "wrong-name"],
      ["CERT_HAS_EXPIRED", "expired"],
      ["ERR_SSL_SSLV3_ALERT_CERTIFICATE_EXPIRED", "expired"],
      ["UNABLE_TO_VERIFY_LEAF_SIGNATURE", "wrong-ca"],
      ["SELF_SIGNED_CERT_IN_CHAIN", "wrong-ca"],
      ["ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED", "no-certificate"],
      ["ERR_SSL_TLSV1_ALERT_NO_APPLICATION_PROTOCOL", "wrong-alpn"],
      ["ERR_SSL_SSLV3_ALERT_BAD_CERTIFICATE", "bad-certificate"],
      ["ECONNREFUSED", "refused"],
      ["ENOTFOUND", "refused"],
      ["ETIMEDOUT", "timeout"],
      ["ECONNRESET", "network"],
      ["EPIPE", "network"],
      ["ERR_SOMETHING_ELSE", "protocol"],
    ];
    for (const [code, trouble] of named) {
      assert.equal(tlsTrouble(Object.assign(new Error("failed"), { code })), trouble, code);
    }
  });
});

describe("withCertificates()", () => {
  it("says what could not be done with unusable certificates", () => {
    assert.equal(
      withCertificates("listen", () => 7),
      7,
    );
    const fail = (): never => {
      throw new Error("no start line");
    };
    assert.throws(() => withCertificates("listen on x", fail), {
      trouble: "unusable",
      message: "Cannot listen on x: no start line.",
    });
  });
});
