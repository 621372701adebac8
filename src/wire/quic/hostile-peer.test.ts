import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { createSocket, type Socket } from "node:dgram";
import { once } from "node:events";
import { connect as connectTcp } from "node:net";
import { describe, test } from "node:test";
import {
  ask,
  echo,
  keepEngine,
  MiB,
  type Scheme,
  testCredentials,
  TestPair,
} from "../../../test/support/quic-pair.ts";
import { until } from "../../../test/support/until.ts";
import { memoryReturn } from "../../base/process/give-back-memory.ts";
import { encodeFrame } from "../framing/length-prefixed.ts";
import type { Connection } from "./connection.ts";
import { ConnectionError } from "./connection-error.ts";
import { QuicEngine } from "./quic-engine.ts";
import { connect } from "./transport.ts";

const HELLO = Buffer.from("hello");

for (const scheme of ["quic", "tls"] as const) {
  describe(`a hostile peer over ${scheme}`, () => {
    if (scheme === "quic") keepEngine();
    hostilePeers(scheme);
  });
}

describe("what ended connections held", () => {
  for (const scheme of ["quic", "tls"] as const) {
    test(`is given back over ${scheme}`, async (t) => {
      const ended = t.mock.method(memoryReturn(), "connectionEnded");
      await using pair = await TestPair.open({ scheme });
      await (await pair.connect()).close();
      await until(() => ended.mock.callCount() > 0);
    });
  }

  test("is given back of strangers over TLS, too", async (t) => {
    const ended = t.mock.method(memoryReturn(), "connectionEnded");
    await using pair = await TestPair.open({ scheme: "tls" });
    for (let count = 0; count < 5; count++) {
      const stranger = connectTcp(pair.listener.port, "127.0.0.1");
      await once(stranger, "connect");
      stranger.destroy();
    }
    await until(() => ended.mock.callCount() >= 5);
  });
});

describe("strangers that connect and say nothing", () => {
  test("do not keep out over TLS who has a certificate", async () => {
    await using pair = await TestPair.open({ scheme: "tls", limits: { maxConnections: 4 } });
    const known = await pair.connect();
    const strangers = Array.from({ length: 20 }, () => connectTcp(pair.listener.port, "127.0.0.1"));
    using ending = new DisposableStack();
    for (const stranger of strangers) ending.defer(() => stranger.on("error", () => {}).destroy());
    await Promise.all(strangers.map((stranger) => once(stranger, "connect")));
    assert.deepEqual(await ask(await pair.connect(), HELLO), HELLO);
    assert.deepEqual(await ask(known, HELLO), HELLO);
  });

  test("are cut off over TLS when the time for a handshake is over", async () => {
    await using pair = await TestPair.open({ scheme: "tls", limits: { handshakeTimeout: 100 } });
    // Nothing, a header, and a part of the record that it tells of (RFC 8446 § 5.1).
    for (const length of [0, 5, 5_000]) {
      const bytes = Buffer.alloc(length);
      bytes.set([22, 3, 1, 0x40, 0].slice(0, length));
      const stranger = connectTcp(pair.listener.port, "127.0.0.1");
      stranger.on("error", () => {}).write(bytes);
      await once(stranger.resume(), "close");
    }
    assert.deepEqual(
      pair.refusals.map(({ trouble }) => trouble),
      ["timeout", "timeout", "timeout"],
    );
  });

  test("do not over QUIC, in the middle of their handshakes", async () => {
    await using pair = await TestPair.open({ scheme: "quic", limits: { maxConnections: 2 } });
    const engine = new QuicEngine();
    const giveUp = new AbortController();
    await using muted = new AsyncDisposableStack();
    for (const _ of [1, 2]) {
      const proxy = muted.use(await MutedClient.open(pair.listener.port));
      const { client: credentials } = await testCredentials();
      const address = `quic://127.0.0.1:${proxy.port}`;
      connect(address, { credentials, signal: giveUp.signal }, engine).catch(() => {});
      await proxy.answered;
    }
    assert.deepEqual(await ask(await pair.connect(), HELLO), HELLO);
    giveUp.abort();
  });
});

/** The type of a long packet, by its first byte (RFC 9000 § 17.2). */
const PACKET_TYPE = 0b1011_0000;
const INITIAL = 0b1000_0000;

/** A way to a server on which a client is heard until the server has answered its ClientHello. */
class MutedClient implements AsyncDisposable {
  readonly port: number;
  readonly answered: Promise<void>;
  readonly #sockets: readonly Socket[];

  private constructor(front: Socket, back: Socket, server: number) {
    this.port = front.address().port;
    this.#sockets = [front, back];
    const answered = Promise.withResolvers<void>();
    this.answered = answered.promise;
    let client = 0;
    let isMuted = false;
    front.on("message", (bytes, { port }) => {
      client = port;
      if (!isMuted) back.send(bytes, server, "127.0.0.1");
    });
    back.on("message", (bytes) => {
      isMuted ||= ((bytes[0] ?? 0) & PACKET_TYPE) === INITIAL;
      if (isMuted) answered.resolve();
      front.send(bytes, client, "127.0.0.1");
    });
  }

  static async open(server: number): Promise<MutedClient> {
    const bind = async (): Promise<Socket> => {
      const socket = createSocket("udp4").bind(0, "127.0.0.1");
      await once(socket, "listening");
      return socket;
    };
    return new MutedClient(await bind(), await bind(), server);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(
      this.#sockets.map((socket) => new Promise<void>((resolve) => socket.close(() => resolve()))),
    );
  }
}

function hostilePeers(scheme: Scheme): void {
  test("that leaves 10,000 requests unfinished gets few of them open, and loses those", async () => {
    const failed = Promise.withResolvers<Error>();
    let begun = 0;
    await using pair = await TestPair.open({
      scheme,
      limits: { requestIdle: 400, maxConnections: 100 },
      handle: async (stream) => {
        begun += 1;
        try {
          await echo(stream);
        } catch (error) {
          failed.resolve(error as Error);
        }
      },
    });
    const hostile = await pair.connect();
    const honest = await pair.connect();
    for (let count = 0; count < 10_000; count += 1) {
      void hostile.openStream().write(encodeFrame(HELLO).subarray(0, 5));
    }
    assert.deepEqual(await ask(honest, HELLO), HELLO);
    assert.ok(begun <= 129, `${begun} were begun`);
    const error = await failed.promise;
    assert.ok(error instanceof ConnectionError, String(error));
    assert.deepEqual(await ask(honest, HELLO), HELLO);
  });

  test("that opens more connections than allowed is refused", async () => {
    await using pair = await TestPair.open({ scheme, limits: { maxConnections: 2 } });
    const first = await pair.connect();
    const second = await pair.connect();
    await assert.rejects(pair.connect(), ConnectionError);
    assert.deepEqual(await ask(first, HELLO), HELLO);
    assert.deepEqual(await ask(second, HELLO), HELLO);
    await first.close();
    const third = await untilLetIn(pair);
    assert.deepEqual(await ask(third, HELLO), HELLO);
  });

  test("that sends garbage does not disturb others", async () => {
    await using pair = await TestPair.open({ scheme });
    const connection = await pair.connect();
    await sendGarbage(scheme, pair.listener.port);
    assert.deepEqual(await ask(connection, HELLO), HELLO);
    assert.deepEqual(await ask(await pair.connect(), HELLO), HELLO);
  });
}

test("that sends too much at once loses the newest requests, and the first succeed", async () => {
  await using pair = await TestPair.open({ listen: { limits: { maxHeld: 8 * MiB } } });
  const connection = await pair.connect();
  const bodies = Array.from({ length: 24 }, (_, index) => Buffer.alloc(3 * MiB, index));
  const results = await Promise.allSettled(bodies.map((body) => ask(connection, body)));
  const fulfilled = results.filter(({ status }) => status === "fulfilled");
  assert.ok(fulfilled.length > 0 && fulfilled.length < 24, `${fulfilled.length} went through`);
  for (const error of pair.failures) assert.match(error.message, /^Cannot hold \d+ unread bytes/);
  assert.equal(pair.failures.length, 24 - fulfilled.length);
  assert.deepEqual(await ask(connection, HELLO), HELLO);
});

async function untilLetIn(pair: TestPair): Promise<Connection> {
  for (;;) {
    try {
      return await pair.connect();
    } catch (error) {
      if (!(error instanceof ConnectionError)) throw error;
    }
  }
}

async function sendGarbage(scheme: Scheme, port: number): Promise<void> {
  if (scheme !== "quic") {
    const socket = connectTcp(port, "127.0.0.1");
    socket.on("error", () => {});
    socket.write(randomBytes(5_000));
    await once(socket.resume(), "close");
    return;
  }
  const socket = createSocket("udp4");
  for (let count = 0; count < 500; count += 1) {
    const bytes = randomBytes(5 + ((count * 37) % 1_400));
    // Some look like the first packet of a connection.
    if (count % 3 === 0) bytes.set([0xc0, 0, 0, 0, 1]);
    await new Promise((resolve) => socket.send(bytes, port, "127.0.0.1", resolve));
  }
  await new Promise<void>((resolve) => socket.close(resolve));
}
