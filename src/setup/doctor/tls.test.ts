import assert from "node:assert/strict";
import { mkdtempDisposableSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";

import { TestCa } from "../../../test/support/quic-certificates.ts";
import { defaultConfig } from "../../config/config.ts";
import { checkTls } from "./access-checks.ts";

const ca = await TestCa.make();
const names = ["gate.example.com"];
const { cert, key } = await ca.issue("gate", { names, to: 90 });

/** What is found of two files with these texts; undefined leaves a file out. */
function check(texts: { cert?: string | undefined; key?: string | undefined }, publicUrl?: string) {
  using folder = mkdtempDisposableSync(join(tmpdir(), "trunkline-doctor-"));
  const tls = { certFile: join(folder.path, "cert.pem"), keyFile: join(folder.path, "key.pem") };
  if (texts.cert !== undefined) writeFileSync(tls.certFile, texts.cert);
  if (texts.key !== undefined) writeFileSync(tls.keyFile, texts.key);
  const { serve } = defaultConfig(folder.path);
  const named = publicUrl === undefined ? {} : { publicUrl };
  const [found, ...more] = checkTls({ serve: { ...serve, tls, ...named } });
  assert.deepEqual(more, []);
  return { state: found?.state, says: found?.says ?? "", next: found?.next ?? "" };
}

describe("checkTls()", () => {
  it("says nothing without `serve.tls`, and until when a good certificate is valid", () => {
    assert.deepEqual(checkTls(defaultConfig("/data")), []);
    const good = check({ cert, key }, "https://gate.example.com");
    assert.equal(good.state, "ok");
    assert.match(good.says, /valid until \d{4}-\d\d-\d\d$/);
  });

  it("fails for a missing file, and names its setting", () => {
    const found = check({ cert });
    assert.equal(found.state, "fail");
    assert.match(found.says, /key\.pem', named by `serve\.tls\.keyFile`: no such file/);
    assert.match(found.next, /`serve\.tls\.keyFile`/);
  });

  it("fails for a key of another certificate", async () => {
    const { key: other } = await ca.issue("other");
    const found = check({ cert, key: other });
    assert.equal(found.state, "fail");
    assert.match(found.next, /key belongs to another certificate/);
  });

  it("fails for files that are no PEM", () => {
    for (const texts of [
      { cert: "hello", key },
      { cert, key: "hello" },
      { cert: "", key: "" },
    ]) {
      const found = check(texts);
      assert.equal(found.state, "fail");
      assert.match(found.next, /PEM files/);
    }
  });

  it("fails for a certificate that has expired or is not valid yet, and warns two weeks before", async () => {
    const expired = check(await ca.issue("gate", { names, from: -90, to: -1 }));
    assert.equal(expired.state, "fail");
    assert.match(expired.says, /expired on/);
    assert.match(expired.next, /certbot renew/);
    const early = check(await ca.issue("gate", { names, from: 2 }));
    assert.equal(early.state, "fail");
    assert.match(early.says, /not valid before/);
    assert.equal(check(await ca.issue("gate", { names, to: 10 })).state, "warn");
    assert.equal(check(await ca.issue("gate", { names, to: 20 })).state, "ok");
  });

  it("warns if the certificate is not for the public address", () => {
    const found = check({ cert, key }, "https://other.example.com");
    assert.equal(found.state, "warn");
    assert.match(found.says, /not for other\.example\.com.*but for DNS:gate\.example\.com/);
  });
});
