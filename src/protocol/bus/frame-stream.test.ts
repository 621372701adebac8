import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { covers } from "../../../test/support/requirement.ts";
import { keepEngine, TestPair } from "../../../test/support/quic-pair.ts";
import { memoryConnection } from "../../plugin/sdk/test/memory-connection.ts";
import type { BidiStream, Connection } from "../../wire/quic/connection.ts";
import { bodyOf, decodeResponse, encodeRequest } from "./codec.ts";
import { BusClient } from "./connect.ts";
import { readFrames, readResponses } from "./frame-stream.ts";
import { serveExchange } from "./serve.ts";

/** Announces 4 GiB, of which nothing follows. */
const HEADER = Buffer.alloc(4, 0xff);
const STREAM_START = { case: "streamStart", value: { streamId: "s", toolName: "t" } } as const;

for (const scheme of ["quic", "tls"] as const) {
  describe(`a frame of 4 GiB over ${scheme}`, { timeout: 30_000 }, () => {
    if (scheme === "quic") keepEngine();
    it("is refused after its header, as a request", async () => {
      covers("bus.frame.limit");
      const service = { handlers: {}, report: () => {} };
      await using pair = await TestPair.open({
        scheme,
        handle: (stream, connection) => serveExchange(stream, connection, service),
      });
      const connection = await pair.connect();
      const stream = connection.openStream();
      void stream.write(HEADER);
      const answer = stream.readAll(1_000);
      const { response } = decodeResponse(bodyOf(await answer));
      assert.equal(response.case, "toolCall");
      assert.match(response.value.errorMessage, /over 16777216 bytes, namely 4294967295/);
    });

    it("is refused after its header, as an answer", async () => {
      await using pair = await TestPair.open({ scheme, handle: (stream) => stream.write(HEADER) });
      await using client = new BusClient({ name: "It", dial: () => pair.connect() });
      await assert.rejects(client.ask({ case: "health", value: {} }), /4294967295 bytes/);
    });

    it("is refused after its header, as one of several answers", async () => {
      await using pair = await TestPair.open({ scheme, handle: (stream) => stream.write(HEADER) });
      await using client = new BusClient({ name: "It", dial: () => pair.connect() });
      await assert.rejects(client.askForMany(STREAM_START).next(), /4294967295/);
    });
  });
}

/** A stream on which the other side was asked for something. */
function begun(connection: Connection): BidiStream {
  const stream = connection.openStream();
  void stream.end();
  return stream;
}

describe("a stream that ends inside a frame", () => {
  it("is reported as cut off, as a request and as an answer", async () => {
    const cut = encodeRequest({ requestId: "1", request: { case: "health", value: {} } });
    const truncated = (stream: BidiStream) => stream.end(cut.subarray(0, cut.length - 2));
    const connection = await memoryConnection((stream) => void truncated(stream));
    const taker = { first: () => assert.fail(), further: () => assert.fail(), received: () => {} };
    await assert.rejects(async () => readFrames(begun(connection), taker), {
      message: "Cannot read a request: its last 2 bytes are missing",
    });
    await assert.rejects(Array.fromAsync(readResponses(begun(connection))), {
      message: "Cannot read an answer: its last 2 bytes are missing",
    });
  });

  it("is no request and no answer if it is empty", async () => {
    const connection = await memoryConnection((stream) => void stream.end());
    const taker = { first: () => assert.fail(), further: () => assert.fail(), received: () => {} };
    await assert.rejects(async () => readFrames(begun(connection), taker), /ended before it/);
    assert.deepEqual(await Array.fromAsync(readResponses(begun(connection))), []);
  });

  it("keeps the request that came before the part that was cut off", async () => {
    covers("bus.stream.read-to-end");
    const frame = encodeRequest({ requestId: "1", request: { case: "health", value: {} } });
    const connection = await memoryConnection((stream) => {
      void stream.end(Buffer.concat([frame, frame, frame.subarray(0, 3)]));
    });
    const taken: string[] = [];
    const reading = readFrames(begun(connection), {
      first: (body) => void taken.push(`first ${body.length}`),
      further: (body) => void taken.push(`further ${body.length}`),
      received: () => {},
    });
    await assert.rejects(reading, /its last 1 bytes are missing/);
    const { length } = frame.subarray(4);
    assert.deepEqual(taken, [`first ${length}`, `further ${length}`]);
  });
});
