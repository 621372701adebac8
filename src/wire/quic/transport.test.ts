import assert from "node:assert/strict";
import { createSocket } from "node:dgram";
import { once } from "node:events";
import { createServer } from "node:net";
import { describe, test } from "node:test";
import { covers } from "../../../test/support/requirement.ts";
import { TestCa } from "../../../test/support/quic-certificates.ts";
import {
  ask,
  keepEngine,
  type PairOptions,
  type Scheme,
  testCredentials,
  TestPair,
} from "../../../test/support/quic-pair.ts";
import { connect, listen } from "./transport.ts";
import type { ConnectOptions, Credentials } from "./connection.ts";
import { ConnectionError } from "./connection-error.ts";
import type { QuicFailure } from "./settings.ts";

for (const scheme of ["quic", "tls"] as const) {
  describe(`a handshake over ${scheme}`, () => {
    if (scheme === "quic") keepEngine();
    handshakes(scheme);
  });
}

const HELLO = Buffer.from("hello");

function handshakes(scheme: Scheme): void {
  for (const ca of ["Ed25519", "P-256", "RSA"] as const) {
    for (const leaf of ["Ed25519", "P-256", "RSA"] as const) {
      test(`accepts ${leaf} certificates of a CA with ${ca}`, async () => {
        const authority = await TestCa.make(ca);
        const server = await authority.issue("server", { kind: leaf });
        const client = await authority.issue("client", { kind: leaf });
        await using pair = await TestPair.open({ scheme, listen: { credentials: server } });
        const connection = await pair.connect({ credentials: client });
        assert.deepEqual(await ask(connection, HELLO), HELLO);
      });
    }
  }

  test("accepts the host's name, an IP address and another requested name", async () => {
    const { ca } = await testCredentials();
    const server = await ca.issue("server", { names: ["bus.example", "localhost", "127.0.0.1"] });
    await using pair = await TestPair.open({ scheme, listen: { credentials: server } });
    for (const serverName of ["127.0.0.1", "localhost", "bus.example"]) {
      const connection = await pair.connect({ serverName });
      assert.deepEqual(await ask(connection, HELLO), HELLO);
    }
    const { client } = await testCredentials();
    await using byName = await connect(`${scheme}://localhost:${pair.listener.port}`, {
      credentials: client,
    });
    assert.deepEqual(await ask(byName, HELLO), HELLO);
  });

  test("works over IPv6", async (context) => {
    const { server, client } = await testCredentials();
    const stream = (): void => {};
    const listener = await listen(`${scheme}://[::1]:0`, {
      credentials: server,
      stream,
    }).catch(() => undefined);
    if (listener === undefined) return context.skip("this machine has no IPv6 loopback");
    await using connection = await connect(listener.address, { credentials: client });
    assert.match(connection.address, /^(?:quic|tls):\/\/\[::1\]:\d+$/);
    await connection.close();
    // Nothing listens at 127.0.0.1 then, and hosts files may have no other address.
    const byName = `${scheme}://localhost:${listener.port}`;
    await using named = await connect(byName, { credentials: client });
    await named.close();
    await listener[Symbol.asyncDispose]();
  });

  test("refuses a server of another CA", async () => {
    const { credentials } = await strangers();
    await refused({ scheme, listen: { credentials } }, {}, "wrong-ca");
  });

  test("refuses a server whose certificate is expired", async () => {
    const { ca } = await testCredentials();
    const credentials = await ca.issue("server", { from: -10, to: -1 });
    await refused({ scheme, listen: { credentials } }, {}, "expired");
  });

  test("refuses a server whose certificate is for another name", async () => {
    const { ca } = await testCredentials();
    const credentials = await ca.issue("server", { names: ["elsewhere.example"] });
    await refused({ scheme, listen: { credentials } }, {}, "wrong-name");
    await refused({ scheme, listen: { credentials } }, { serverName: "10.0.0.1" }, "wrong-name");
    await refused({ scheme, listen: { credentials } }, { serverName: "a.example" }, "wrong-name");
  });

  test("refuses another ALPN protocol", async () => {
    covers("bus.quic.alpn");
    await refused({ scheme }, { alpn: "h3" }, "wrong-alpn");
  });

  // Over TLS, Node's server hangs up without saying why.
  const unsaid = (trouble: QuicFailure): QuicFailure =>
    scheme === "quic" ? trouble : "bad-certificate";

  test("refuses a client without a certificate, and reports it on both sides", async () => {
    covers("bus.quic.client-certificate");
    const { ca } = await testCredentials();
    await refused({ scheme }, { credentials: { ca: ca.pem } }, "no-certificate", "no-certificate");
  });

  test("refuses a client of another CA, and reports it on both sides", async () => {
    const { credentials } = await strangers();
    await refused({ scheme }, { credentials }, unsaid("wrong-ca"), "wrong-ca");
  });

  test("refuses a client whose certificate is expired or not valid yet", async () => {
    const { ca } = await testCredentials();
    // TLS has no word for one that is not valid yet.
    for (const [from, to, told] of [
      [-10, -1, unsaid("expired")],
      [1, 10, "bad-certificate"],
    ] as const) {
      const credentials = await ca.issue("client", { from, to });
      await refused({ scheme }, { credentials }, told, "expired");
    }
  });

  test("accepts a client without a certificate if one is only requested", async () => {
    covers("bus.quic.optional-certificate");
    const { ca } = await testCredentials();
    await using pair = await TestPair.open({ scheme, listen: { clientCertificate: "request" } });
    const connection = await pair.connect({ credentials: { ca: ca.pem } });
    assert.deepEqual(await ask(connection, HELLO), HELLO);
    assert.equal(pair.accepted[0]?.peer, undefined);
  });

  test("refuses a bad certificate even if none is required", async () => {
    const { credentials } = await strangers();
    const options = { scheme, listen: { clientCertificate: "request" } } as const;
    await refused(options, { credentials }, unsaid("wrong-ca"), "wrong-ca");
  });

  test("fails at once if nothing listens", async () => {
    const { client } = await testCredentials();
    const port = await freePort();
    await assert.rejects(
      connect(`${scheme}://127.0.0.1:${port}`, { credentials: client }),
      (error) => {
        assert.ok(error instanceof ConnectionError);
        assert.equal(error.trouble, "refused", error.message);
        assert.match(error.message, new RegExp(`${scheme}://127\\.0\\.0\\.1:${port}`));
        return true;
      },
    );
  });

  test("fails in time if nothing answers", async () => {
    const { client } = await testCredentials();
    await using mute = await muteServer(scheme);
    const limits = { handshakeTimeout: 300 };
    await assert.rejects(connect(mute.address, { credentials: client, limits }), {
      trouble: "timeout",
      code: "timeout",
    });
  });

  test("can be cancelled", async () => {
    const { client } = await testCredentials();
    await using mute = await muteServer(scheme);
    const controller = new AbortController();
    const connecting = connect(mute.address, { credentials: client, signal: controller.signal });
    setImmediate(() => controller.abort());
    await assert.rejects(connecting, { code: "cancelled" });
  });

  test("refuses unusable certificates, and says which", async () => {
    const { client, server } = await testCredentials();
    const stream = (): void => {};
    const broken = { ...server, cert: "not a certificate" };
    const mixed = { ...client, key: server.key };
    const unusable = { code: "config", trouble: "unusable" };
    await using pair = await TestPair.open({ scheme });
    for (const credentials of [broken, mixed]) {
      const address = `${scheme}://127.0.0.1:0`;
      await assert.rejects(listen(address, { credentials, stream }), unusable);
      await assert.rejects(pair.connect({ credentials }), unusable);
      await assert.rejects(pair.listener.renew(credentials), unusable);
    }
    assert.deepEqual(await ask(await pair.connect(), HELLO), HELLO);
  });

  test("cannot listen on an address that is in use", async () => {
    await using pair = await TestPair.open({ scheme });
    const { server } = await testCredentials();
    const stream = (): void => {};
    await assert.rejects(listen(pair.listener.address, { credentials: server, stream }), {
      code: "config",
      message: /in use/,
    });
  });

  test("presents renewed certificates to new clients only", async () => {
    const other = await TestCa.make("P-256", "Next CA");
    const next: Credentials = await other.issue("renewed");
    await using pair = await TestPair.open({ scheme });
    const old = await pair.connect();
    await pair.listener.renew(next);
    const connection = await pair.connect({ credentials: await other.issue("client") });
    assert.equal(connection.peer?.name, "renewed");
    assert.deepEqual(await ask(old, HELLO), HELLO);
    await assert.rejects(pair.connect(), ConnectionError);
  });
}

/** A client that is not let in, and what the server saw of it. */
async function refused(
  options: PairOptions,
  connectOptions: Partial<ConnectOptions>,
  trouble: QuicFailure,
  seen?: QuicFailure,
): Promise<void> {
  await using pair = await TestPair.open(options);
  await assert.rejects(pair.connect(connectOptions), (error) => {
    assert.ok(error instanceof ConnectionError, String(error));
    assert.equal(error.trouble, trouble, error.message);
    assert.match(error.message, /^Cannot .+ (?:quic|tls):\/\/.+: .+\.$/s);
    return true;
  });
  if (seen !== undefined) assert.equal((await pair.refusal()).trouble, seen);
}

async function strangers(): Promise<{ credentials: Credentials }> {
  const { ca } = await testCredentials();
  const rogue = await TestCa.make("Ed25519", "Rogue CA");
  const stranger = await rogue.issue("stranger");
  // It trusts the right CA, but is not of it.
  return { credentials: { ...stranger, ca: ca.pem } };
}

async function freePort(): Promise<number> {
  const socket = createSocket("udp4").bind(0, "127.0.0.1");
  await once(socket, "listening");
  const { port } = socket.address();
  await new Promise<void>((resolve) => socket.close(resolve));
  return port;
}

/** Takes what it is sent and says nothing. */
async function muteServer(scheme: Scheme): Promise<AsyncDisposable & { address: string }> {
  if (scheme === "quic") {
    const socket = createSocket("udp4").bind(0, "127.0.0.1");
    await once(socket, "listening");
    return {
      address: `quic://127.0.0.1:${socket.address().port}`,
      [Symbol.asyncDispose]: () => new Promise((resolve) => socket.close(resolve)),
    };
  }
  const server = createServer((socket) => socket.on("error", () => {}).resume()).listen(
    0,
    "127.0.0.1",
  );
  await once(server, "listening");
  return {
    address: `tls://127.0.0.1:${(server.address() as { port: number }).port}`,
    [Symbol.asyncDispose]: () => new Promise((resolve) => server.close(() => resolve())),
  };
}
