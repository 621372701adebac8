import assert from "node:assert/strict";
import { once } from "node:events";
import { test } from "node:test";
import { connect as connectTls, type TLSSocket } from "node:tls";

import { LIMIT, MiB, testCredentials, TestPair } from "../../../../test/support/quic-pair.ts";
import { encodeFrame } from "../../framing/length-prefixed.ts";
import { BUS_ALPN } from "../connection.ts";

test("a client over TLS that announces 17 MiB is cut off at once", async () => {
  await using pair = await TestPair.open({ scheme: "tls" });
  const socket = await rawTls(pair.listener.port);
  const prefix = Buffer.alloc(4);
  prefix.writeUInt32BE(17 * MiB);
  socket.write(prefix);
  await once(socket, "close");
});

test("a client over TLS that sends many requests at once gets the answers one by one", async () => {
  const begun: string[] = [];
  await using pair = await TestPair.open({
    scheme: "tls",
    handle: async (stream) => {
      const request = await stream.readAll(LIMIT);
      begun.push(request.toString("latin1", 4));
      await stream.end(request);
    },
  });
  const socket = await rawTls(pair.listener.port);
  const requests = Array.from({ length: 50 }, (_, index) => Buffer.from(`request ${index}`));
  // Cut where no frame ends.
  const bytes = Buffer.concat(requests.map(encodeFrame));
  for (let at = 0; at < bytes.length; at += 7) socket.write(bytes.subarray(at, at + 7));
  const ready = Buffer.alloc(4);
  const expected = [ready, ...requests.flatMap((body) => [encodeFrame(body), ready])];
  assert.deepEqual(
    await readBytes(socket, Buffer.concat(expected).length),
    Buffer.concat(expected),
  );
  assert.deepEqual(begun, requests.map(String));
  socket.destroy();
});

test("a client over TLS that disconnects within a request is reported as such", async () => {
  await using pair = await TestPair.open({ scheme: "tls" });
  const socket = await rawTls(pair.listener.port);
  socket.end(encodeFrame(Buffer.alloc(100)).subarray(0, 50));
  await once(socket.resume(), "close");
  const closed = await pair.accepted[0]?.closed;
  assert.equal(closed?.code, "closed");
  assert.equal(pair.failures.length, 1);
});

async function rawTls(port: number): Promise<TLSSocket> {
  const { client } = await testCredentials();
  const { ca, cert, key } = client;
  const socket = connectTls({
    port,
    host: "127.0.0.1",
    ca,
    cert: cert ?? "",
    key: key ?? "",
    ALPNProtocols: [BUS_ALPN],
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
