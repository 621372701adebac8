import assert from "node:assert/strict";
import { once } from "node:events";
import { test } from "node:test";
import { connect as connectTls, type TLSSocket } from "node:tls";

import { onAbort } from "../../../base/abort.ts";
import { ask, LIMIT, MiB, testCredentials, TestPair } from "../../../../test/support/quic-pair.ts";
import { type BidiStream, tlsAlpn } from "../connection.ts";
import { COMMAND, FIRST, HEADER, LAST, LONGEST_PAYLOAD, writeHeader } from "../control-frame.ts";

const HELLO = Buffer.from("hello");
const MUCH = Buffer.from("much");

test("a client over TLS that announces too long a frame is cut off at once", async () => {
  await using pair = await TestPair.open({ scheme: "tls" });
  const socket = await rawTls(pair.listener.port);
  const header = frame(COMMAND.write, FIRST, 1, Buffer.alloc(0));
  header.writeUInt32LE(LONGEST_PAYLOAD + 1);
  socket.write(header);
  await once(socket.resume(), "close");
  const closed = await pair.accepted[0]?.closed;
  assert.match(closed?.message ?? "", /a frame of 65537 bytes was announced/);
});

test("a client over TLS is answered however its bytes are cut", async () => {
  await using pair = await TestPair.open({ scheme: "tls" });
  const socket = await rawTls(pair.listener.port);
  const requests = Array.from({ length: 20 }, (_, at) =>
    frame(COMMAND.write, FIRST | LAST, at + 1, Buffer.from(`request ${at}`)),
  );
  const bytes = Buffer.concat(requests);
  for (let at = 0; at < bytes.length; at += 7) socket.write(bytes.subarray(at, at + 7));
  // That it is let in comes first, with a number for its payload.
  const answers = await readBytes(socket, HEADER + 4 + bytes.length);
  for (let at = 0; at < 20; at += 1) assert.ok(answers.includes(`request ${at}`), `${at}`);
  socket.destroy();
});

test("a client over TLS that opens more streams than allowed is cut off", async () => {
  await using pair = await TestPair.open({ scheme: "tls", limits: { maxStreams: 4 } });
  const honest = await pair.connect();
  const socket = await rawTls(pair.listener.port);
  for (let id = 1; id <= 5; id += 1) socket.write(frame(COMMAND.write, FIRST, id, HELLO));
  await once(socket.resume(), "close");
  assert.match((await pair.accepted[1]?.closed)?.message ?? "", /opened more than 4 streams/);
  assert.deepEqual(await ask(honest, HELLO), HELLO);
});

test("a client over TLS that sends more than it may loses the exchange, not our memory", async () => {
  const held = Promise.withResolvers<void>();
  const limits = { maxHeld: MiB };
  await using pair = await TestPair.open({
    ...{ scheme: "tls", limits },
    handle: async (stream) => {
      onAbort(stream.signal, () => held.resolve());
      await held.promise;
      await stream.readAll(LIMIT);
    },
  });
  const socket = await rawTls(pair.listener.port);
  socket.resume().write(frame(COMMAND.write, FIRST, 1, HELLO));
  const piece = frame(COMMAND.write, 0, 1, Buffer.alloc(LONGEST_PAYLOAD));
  for (let sent = 0; sent < 2 * MiB; sent += piece.length) socket.write(piece);
  await held.promise;
  socket.destroy();
});

test("of clients over TLS that read nothing, those with the most unsent are cut off", async () => {
  const answer = Buffer.alloc(200 * 1024);
  const handle = async (stream: BidiStream): Promise<void> => {
    const request = await stream.readAll(LIMIT);
    await stream.end(request.equals(MUCH) ? answer : request);
  };
  const limits = { maxUnsent: 16 * MiB };
  await using pair = await TestPair.open({ scheme: "tls", limits, handle });
  const honest = await pair.connect();
  const silent = await Promise.all(Array.from({ length: 4 }, () => rawTls(pair.listener.port)));
  // Each alone is below what one connection may leave unread.
  for (const socket of silent) {
    socket.pause();
    for (let id = 1; id <= 120; id += 1) {
      socket.write(frame(COMMAND.write, FIRST | LAST, id, MUCH));
    }
  }
  const cut = await Promise.race(pair.accepted.slice(1).map(({ closed }) => closed));
  assert.match(cut.message, /it does not take what it is sent/);
  assert.deepEqual(await ask(honest, HELLO), HELLO);
  for (const socket of silent) socket.destroy();
});

test("a client over TLS that disconnects within a request is reported as such", async () => {
  await using pair = await TestPair.open({ scheme: "tls" });
  const socket = await rawTls(pair.listener.port);
  const half = frame(COMMAND.write, FIRST, 1, Buffer.alloc(50));
  socket.end(half);
  await once(socket.resume(), "close");
  const closed = await pair.accepted[0]?.closed;
  assert.equal(closed?.code, "closed");
  assert.equal(pair.failures.length, 1);
});

test("a stream over TLS that waits for another to end can be cancelled", async () => {
  const begun: string[] = [];
  const goOn = Promise.withResolvers<void>();
  await using pair = await TestPair.open({
    ...{ scheme: "tls", limits: { maxStreams: 1 } },
    handle: async (stream) => {
      const request = await stream.readAll(LIMIT);
      begun.push(request.toString("latin1", 4));
      await goOn.promise;
      await stream.end(request);
    },
  });
  const connection = await pair.connect();
  const first = ask(connection, Buffer.from("first"));
  const second = connection.openStream();
  void second.end(Buffer.from("....second"));
  const third = ask(connection, Buffer.from("third"));
  second.reset();
  goOn.resolve();
  assert.equal((await first).toString(), "first");
  assert.equal((await third).toString(), "third");
  assert.deepEqual(begun, ["first", "third"]);
});

function frame(kind: number, flags: number, id: number, payload: Buffer): Buffer {
  const bytes = Buffer.alloc(HEADER + payload.length);
  writeHeader(bytes, 0, kind, flags, id, payload.length);
  payload.copy(bytes, HEADER);
  return bytes;
}

async function rawTls(port: number): Promise<TLSSocket> {
  const { client } = await testCredentials();
  const { ca, cert, key } = client;
  const socket = connectTls({
    port,
    host: "127.0.0.1",
    ca,
    cert: cert ?? "",
    key: key ?? "",
    ALPNProtocols: [tlsAlpn()],
  });
  socket.on("error", () => {});
  await once(socket, "secureConnect");
  return socket;
}

async function readBytes(socket: TLSSocket, length: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of socket.iterator({ destroyOnReturn: false })) {
    chunks.push(chunk as Buffer);
    size += (chunk as Buffer).length;
    if (size >= length) break;
  }
  return Buffer.concat(chunks);
}
