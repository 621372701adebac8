import assert from "node:assert/strict";
import { describe, test } from "node:test";

import { BareQuicClient } from "../../../../test/support/bare-quic-client.ts";
import { type Handle, keepEngine, LIMIT, TestPair } from "../../../../test/support/quic-pair.ts";

const BYTE = Buffer.of(0);
/** OpenSSL's first window of a stream, as the client has it. */
const WINDOW = 512 * 1024;
/** What its pings would take along is owed until the client sends something. */
const limits = { keepAlive: 600_000, requestIdle: 600_000 };

function listen(handle: Handle, maxStreams = 1_000): Promise<TestPair> {
  return TestPair.open({ handle, listen: { limits: { ...limits, maxStreams } } });
}

const read: Handle = async (stream) => {
  await stream.readAll(LIMIT);
};

/**
 * Sends a packet before the one that matters. OpenSSL acknowledges the second at once and is idle
 * then; a single one it acknowledges after a while, which takes along what is owed.
 */
async function sendFirst(client: BareQuicClient): Promise<void> {
  const stream = client.open();
  client.write(stream, BYTE);
  await client.idle();
  client.write(stream, BYTE);
  client.turn();
}

describe("a listener whose client waits and sends nothing more", () => {
  keepEngine();

  test("resets a stream whose reset is the first that comes of it", async () => {
    await using pair = await listen(read);
    using client = await BareQuicClient.connect(pair.listener.port);
    await sendFirst(client);
    const stream = client.open();
    client.reset(stream, 7);
    await client.until(() => client.isReset(stream));
  });

  test("resets a stream that is reset in the middle of its request", async () => {
    await using pair = await listen(read);
    using client = await BareQuicClient.connect(pair.listener.port);
    const stream = client.open();
    client.write(stream, BYTE);
    await sendFirst(client);
    client.reset(stream, 7);
    await client.until(() => client.isReset(stream));
  });

  test("allows more streams when it has accepted all that it allowed", async () => {
    await using pair = await listen(read);
    using client = await BareQuicClient.connect(pair.listener.port);
    await sendFirst(client);
    while (client.mayOpen) client.write(client.open(), BYTE);
    await client.until(() => client.mayOpen);
  });

  test("accepts the next stream when one that it aborted has ended", async () => {
    let begun = 0;
    await using pair = await listen(async (stream) => {
      begun += 1;
      if (begun === 1) stream.reset();
    }, 1);
    using client = await BareQuicClient.connect(pair.listener.port);
    const stream = client.open();
    client.write(stream, BYTE);
    await client.until(() => client.isReset(stream));
    await sendFirst(client);
    client.reset(stream, 7);
    await client.until(() => begun === 2);
  });

  test("sends the rest of an answer when there is room for it again", async () => {
    const rest = 20_000;
    await using pair = await listen(async (stream) => {
      await stream.readAll(LIMIT);
      await stream.end(Buffer.alloc(WINDOW + rest));
    });
    using client = await BareQuicClient.connect(pair.listener.port);
    const stream = client.open();
    client.write(stream, BYTE, true);
    await client.until(() => client.hasReceived(stream, WINDOW));
    await sendFirst(client);
    let got = client.read(stream);
    assert.equal(got, WINDOW);
    await client.until(() => (got += client.read(stream)) === WINDOW + rest);
  });
});
