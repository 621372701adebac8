import assert from "node:assert/strict";
import { X509Certificate } from "node:crypto";
import { test } from "node:test";

import { ask, testCredentials, TestPair } from "../../../test/support/quic-pair.ts";
import type { PeerCertificate } from "./connection.ts";
import { ConnectionError } from "./connection-error.ts";
import { readPeerCertificate } from "./peer-certificate.ts";

const HELLO = Buffer.from("hello");

test("a certificate gives the name and the fingerprint of its holder", async () => {
  const { server } = await testCredentials();
  const certificate = new X509Certificate(server.cert ?? "");
  const { name, unit, fingerprint } = readPeerCertificate(certificate.raw);
  assert.deepEqual([name, unit], ["orchestrator", undefined]);
  assert.equal(fingerprint, certificate.fingerprint256.replaceAll(":", "").toLowerCase());
});

for (const scheme of ["quic", "tls"] as const) {
  test(`a peer has a limited number of connections, and others have theirs (${scheme})`, async () => {
    const mostOfPeer = ({ name }: PeerCertificate) => (name === "plugin-client" ? 2 : undefined);
    await using pair = await TestPair.open({ scheme, listen: { mostOfPeer } });
    const { ca } = await testCredentials();
    const other = { credentials: await ca.issue("other-client") };
    const [first, second] = [await pair.connect(), await pair.connect()];
    const third = async (): Promise<unknown> => ask(await pair.connect(), HELLO);
    await assert.rejects(third(), ConnectionError);
    assert.match((await pair.refusal()).message, /'plugin-client' has too many connections/);
    assert.deepEqual(await ask(await pair.connect(other), HELLO), HELLO);
    for (const one of [first, second]) assert.deepEqual(await ask(one, HELLO), HELLO);
    // With one that is gone there is room again.
    await first.close();
    for (;;) {
      try {
        assert.deepEqual(await third(), HELLO);
        break;
      } catch (error) {
        if (!(error instanceof ConnectionError)) throw error;
      }
    }
  });
}
