import assert from "node:assert/strict";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { type AddressInfo, createConnection, createServer, type Socket } from "node:net";
import { describe, it } from "node:test";
import { connect, createServer as createTlsServer, type TLSSocket } from "node:tls";

import {
  ask,
  type PairOptions,
  TestPair,
  testCredentials,
} from "../../../../test/support/quic-pair.ts";
import { localAlpn } from "../connection.ts";
import { EVENT, HEADER, writeHeader } from "../control-frame.ts";
import { connect as connectTo } from "../transport.ts";

const HELLO = Buffer.from("hello");
const OFFER = 80;
const STAYS = Buffer.of(1);

const pairOf = (options: PairOptions = {}): Promise<TestPair> =>
  TestPair.open({ scheme: "local", ...options });

/** A client that has shown its certificate, and what it was offered. */
async function offered(port: number): Promise<{ tls: TLSSocket; path: string; offer: Buffer }> {
  const { ca, cert = "", key = "" } = (await testCredentials()).client;
  const tls = connect({ port, host: "127.0.0.1", ca, cert, key, ALPNProtocols: [localAlpn()] });
  const [offer] = (await once(tls, "data")) as [Buffer];
  assert.equal(offer.length, OFFER);
  return { tls, path: pathOf(offer), offer };
}

function pathOf(offer: Buffer): string {
  return `\0trunkline-${offer.toString("hex", 0, 16)}`;
}

async function dialled(path: string): Promise<Socket> {
  const socket = createConnection(path);
  socket.on("error", () => {});
  await once(socket, "connect");
  return socket;
}

/** A listener that makes an offer of its own choice, and lets in over TLS whoever stays there. */
async function offering(
  offer: Buffer,
): Promise<AsyncDisposable & { address: string; said: Promise<Buffer> }> {
  const { ca, cert = "", key = "" } = (await testCredentials()).server;
  const said = Promise.withResolvers<Buffer>();
  const server = createTlsServer({
    ca,
    cert,
    key,
    requestCert: true,
    ALPNProtocols: [localAlpn()],
  });
  const sockets = new Set<TLSSocket>();
  server.on("secureConnection", (socket) => {
    sockets.add(socket.on("error", () => {}));
    socket.write(offer);
    socket.once("data", (bytes: Buffer) => {
      said.resolve(bytes);
      const letIn = Buffer.alloc(HEADER + 4);
      writeHeader(letIn, 0, EVENT.connected, 0, 0, 4);
      letIn.writeUInt32LE(16, HEADER);
      socket.write(letIn);
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    address: `tls://127.0.0.1:${(server.address() as AddressInfo).port}`,
    said: said.promise,
    [Symbol.asyncDispose]: async () => {
      for (const socket of sockets) socket.destroy();
      await server[Symbol.asyncDispose]();
    },
  };
}

/** How many ends of connections there are at a name, the listener's own included. */
function endsAt(path: string): number {
  const name = path.replace("\0", "@");
  const lines = readFileSync("/proc/net/unix", "utf8").split("\n");
  return lines.filter((line) => line.endsWith(name)).length;
}

const isLinux = process.platform === "linux";

describe(
  "a local socket",
  { skip: !isLinux && "only Linux has names for it", timeout: 60_000 },
  () => {
    it("carries connections of this machine, whose peers have shown who they are", async () => {
      await using pair = await pairOf();
      const { tls, path } = await offered(pair.listener.port);
      tls.destroy();
      const before = endsAt(path);
      const connection = await pair.connect();
      assert.deepEqual(await ask(connection, HELLO), HELLO);
      assert.equal(endsAt(path), before + 1);
      assert.equal(connection.peer?.name, "orchestrator");
      assert.equal(pair.accepted[0]?.peer?.name, "plugin-client");
      await pair.listener.close();
      assert.equal((await connection.closed).trouble, "closed");
      assert.equal(endsAt(path), 0);
    });

    it("is not offered where the listener does not want it, nor asked for by others", async () => {
      await using pair = await pairOf({ listen: { local: false } });
      const connection = await pair.connect();
      assert.deepEqual(await ask(connection, HELLO), HELLO);
      const { ca, cert = "", key = "" } = (await testCredentials()).client;
      const { port } = pair.listener;
      const tls = connect({ port, host: "127.0.0.1", ca, cert, key, ALPNProtocols: [localAlpn()] });
      await assert.rejects(once(tls, "secureConnect"), /no application protocol/i);
    });

    it("is answered for a secret that was told over TLS, once", async () => {
      await using pair = await pairOf();
      const { path, offer } = await offered(pair.listener.port);
      const first = await dialled(path);
      first.write(offer.subarray(16, 48));
      const [proof] = (await once(first, "data")) as [Buffer];
      assert.deepEqual(proof.subarray(0, 32), offer.subarray(48));
      const again = await dialled(path);
      again.write(offer.subarray(16, 48));
      assert.deepEqual(await again.toArray(), []);
      first.destroy();
    });

    it("does not answer who knows its name alone", async () => {
      await using pair = await pairOf({ limits: { handshakeTimeout: 300, maxConnections: 4 } });
      const { tls, path } = await offered(pair.listener.port);
      const guess = await dialled(path);
      guess.write(Buffer.alloc(32, 7));
      assert.deepEqual(await guess.toArray(), []);
      // Silent ones are cut off in the end, and keep nobody out until then.
      const silent = await Promise.all(Array.from({ length: 12 }, () => dialled(path)));
      const connection = await pair.connect();
      assert.deepEqual(await ask(connection, HELLO), HELLO);
      await Promise.all(silent.map((socket) => socket.toArray()));
      tls.destroy();
    });

    it("is not needed: who cannot reach it stays on TLS", async () => {
      await using pair = await pairOf();
      const { tls } = await offered(pair.listener.port);
      tls.write(STAYS);
      const [letIn] = (await once(tls, "data")) as [Buffer];
      assert.equal(letIn[4], EVENT.connected);
      tls.destroy();
    });

    it("is left if nobody is there, or somebody who does not know the proof", async () => {
      const { client } = await testCredentials();
      const offer = Buffer.alloc(OFFER, 9);
      const stranger = createServer((socket) => {
        socket.on("error", () => {}).end(Buffer.alloc(32));
        socket.resume();
      });
      for (const isThere of [false, true]) {
        if (isThere) await once(stranger.listen(pathOf(offer)), "listening");
        await using listener = await offering(offer);
        await using connection = await connectTo(listener.address, { credentials: client });
        assert.deepEqual(await listener.said, STAYS);
        assert.equal(connection.isClosed, false);
      }
      await stranger[Symbol.asyncDispose]();
    });

    it("is waited for no longer than for a handshake", async () => {
      const { client } = await testCredentials();
      const offer = Buffer.alloc(OFFER, 11);
      const silent = createServer((socket) => void socket.resume());
      await once(silent.listen(pathOf(offer)), "listening");
      await using listener = await offering(offer);
      const limits = { handshakeTimeout: 300 };
      await assert.rejects(connectTo(listener.address, { credentials: client, limits }), {
        trouble: "timeout",
      });
      const signal = AbortSignal.timeout(100);
      await assert.rejects(connectTo(listener.address, { credentials: client, signal }), {
        trouble: "cancelled",
      });
      // It waits for its connections to end.
      await silent[Symbol.asyncDispose]();
    });

    it("ends at once with its listener, whoever has not chosen yet", async () => {
      const pair = await pairOf();
      const { tls, path } = await offered(pair.listener.port);
      const silent = await dialled(path);
      const closed = Promise.all([once(tls, "close"), once(silent.resume(), "close")]);
      await pair.listener.close();
      await closed;
    });
  },
);
