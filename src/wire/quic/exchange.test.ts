import assert from "node:assert/strict";
import { once } from "node:events";
import { describe, test } from "node:test";
import { setTimeout as rest } from "node:timers/promises";
import { covers } from "../../../test/support/requirement.ts";
import {
  ask,
  echo,
  keepEngine,
  LIMIT,
  MiB,
  type Scheme,
  TestPair,
  testCredentials,
} from "../../../test/support/quic-pair.ts";
import { encodeFrame } from "../framing/length-prefixed.ts";
import { type BidiStream, DEFAULT_CONNECTION_LIMITS } from "./connection.ts";
import { ConnectionError } from "./connection-error.ts";

for (const scheme of ["quic", "tls"] as const) {
  describe(`an exchange over ${scheme}`, () => exchanges(scheme));
}

function exchanges(scheme: Scheme): void {
  if (scheme === "quic") keepEngine();

  for (const size of [0, 1, 1_000, 100_000, MiB, 16 * MiB]) {
    test(`returns ${size} bytes as they were sent`, async () => {
      covers("bus.stream.exchange");
      await using pair = await TestPair.open({
        scheme,
        handle: async (stream) => {
          const request = await stream.readAll(LIMIT);
          const body = request.subarray(4);
          await stream.end(body.length === 16 * MiB ? request : encodeFrame(withTail(body)));
        },
      });
      const connection = await pair.connect();
      const body = pattern(size);
      const answer = await ask(connection, body);
      assert.deepEqual(pair.failures, []);
      assert.ok(answer.equals(size === 16 * MiB ? body : withTail(body)));
    });
  }

  test("does not mix up 500 exchanges, 32 at once", async () => {
    await using pair = await TestPair.open({ scheme });
    const connection = await pair.connect();
    let next = 0;
    const worker = async (): Promise<void> => {
      while (next < 500) {
        const body = Buffer.from(`request ${next++} ${"x".repeat(next % 3_000)}`);
        assert.deepEqual(await ask(connection, body), body);
      }
    };
    await Promise.all(Array.from({ length: 32 }, worker));
    assert.equal(connection.openStreams, 0);
    assert.deepEqual(pair.failures, []);
  });

  test("waits if the other side allows no more at once", async () => {
    const allowed = DEFAULT_CONNECTION_LIMITS.maxStreams;
    const all = Promise.withResolvers<void>();
    let running = 0;
    let most = 0;
    await using pair = await TestPair.open({
      scheme,
      handle: async (stream) => {
        most = Math.max(most, ++running);
        if (running >= 50) all.resolve();
        await all.promise;
        running -= 1;
        await echo(stream);
      },
    });
    const connection = await pair.connect();
    const length = allowed + 40;
    const bodies = Array.from({ length }, (_, index) => Buffer.from(`body ${index}`));
    const answers = await Promise.all(bodies.map((body) => ask(connection, body)));
    assert.deepEqual(answers, bodies);
    assert.ok(most <= allowed, `${most} ran at once`);
  });

  test("delivers a long text completely to a reader that pauses", async () => {
    // Longer than all windows on its way.
    const total = 8 * MiB;
    let read = 0;
    await using pair = await TestPair.open({
      scheme,
      handle: async (stream) => {
        for await (const bytes of stream.chunks()) {
          read += bytes.length;
          await rest(1);
        }
        await stream.end(encodeFrame(Buffer.from("all")));
      },
    });
    const stream = (await pair.connect()).openStream();
    await stream.end(Buffer.alloc(total));
    await stream.readAll(LIMIT);
    assert.equal(read, total);
  });

  test("delivers parts of an answer before it ends", async () => {
    const read = Promise.withResolvers<void>();
    await using pair = await TestPair.open({
      scheme,
      handle: async (stream) => {
        await stream.readAll(LIMIT);
        await stream.write(encodeFrame(Buffer.from("first")));
        await read.promise;
        await stream.end(encodeFrame(Buffer.from("second")));
      },
    });
    const stream = (await pair.connect()).openStream();
    void stream.end(encodeFrame(Buffer.from("go")));
    let text = "";
    for await (const chunk of stream.chunks()) {
      text += chunk.toString("latin1");
      if (text.includes("first")) read.resolve();
    }
    assert.match(text, /first.*second$/s);
  });

  test("makes a writer wait while nobody reads, and lets it continue after", async () => {
    const chunk = encodeFrame(Buffer.alloc(64 * 1024 - 4, 7));
    const total = 24 * MiB;
    let written = 0;
    await using pair = await TestPair.open({
      scheme,
      handle: async (stream) => {
        await stream.readAll(LIMIT);
        for (; written < total; written += chunk.length) await stream.write(chunk);
        await stream.end();
      },
    });
    const stream = (await pair.connect()).openStream();
    void stream.end(encodeFrame(Buffer.from("go")));
    let read = 0;
    let ahead = 0;
    for await (const bytes of stream.chunks()) {
      read += bytes.length;
      ahead = Math.max(ahead, written - read);
    }
    assert.equal(read, total);
    assert.ok(ahead < 20 * MiB, `the writer was ${ahead} bytes ahead`);
  });

  test("ends both sides with a clear error if a request is over the limit", async () => {
    await using pair = await TestPair.open({
      scheme,
      handle: async (stream) => {
        await stream.end(await stream.readAll(1_000));
      },
    });
    const connection = await pair.connect();
    await assert.rejects(ask(connection, Buffer.alloc(600_000)), (error) => {
      assert.ok(error instanceof ConnectionError);
      return ["reset", "closed", "network"].includes(error.trouble);
    });
    assert.match(pair.failures[0]?.message ?? "", /longer than the limit of 1000 bytes/);
    assert.deepEqual(await ask(connection, Buffer.from("still there")), Buffer.from("still there"));
  });

  test("refuses an answer over the limit, without reading all of it", async () => {
    await using pair = await TestPair.open({ scheme });
    const stream = (await pair.connect()).openStream();
    void stream.end(encodeFrame(Buffer.alloc(MiB)));
    await assert.rejects(stream.readAll(10_000), (error) => {
      return (
        error instanceof ConnectionError && error.trouble === "limit" && error.code === "limit"
      );
    });
  });

  test("notifies the server when the client aborts", async () => {
    const begun = Promise.withResolvers<BidiStream>();
    await using pair = await TestPair.open({
      scheme,
      handle: async (stream) => {
        await stream.readAll(LIMIT);
        begun.resolve(stream);
      },
    });
    const stream = (await pair.connect()).openStream();
    void stream.end(encodeFrame(Buffer.from("long work")));
    const { signal } = await begun.promise;
    const aborted = once(signal, "abort");
    stream.reset(7);
    await assert.rejects(stream.readAll(LIMIT), { code: "cancelled" });
    await aborted;
    assert.ok(signal.reason instanceof ConnectionError);
  });

  test("does not affect the next one when it is aborted after its end", async () => {
    const begun = Promise.withResolvers<void>();
    const goOn = Promise.withResolvers<void>();
    await using pair = await TestPair.open({
      scheme,
      handle: async (stream) => {
        const request = await stream.readAll(LIMIT);
        if (request.length > 8) {
          begun.resolve();
          await goOn.promise;
        }
        await stream.end(request);
      },
    });
    const connection = await pair.connect();
    const first = connection.openStream();
    void first.end(encodeFrame(Buffer.from("1st")));
    await first.readAll(LIMIT);
    const second = ask(connection, Buffer.from("second"));
    await begun.promise;
    first.reset();
    goOn.resolve();
    assert.equal((await second).toString(), "second");
  });

  test("notifies the client when the server aborts", async () => {
    await using pair = await TestPair.open({
      scheme,
      handle: async (stream) => stream.reset(9),
    });
    const connection = await pair.connect();
    await assert.rejects(ask(connection, Buffer.from("hello")), ConnectionError);
  });

  test("fails with the reason when its connection is closed", async () => {
    const begun = Promise.withResolvers<void>();
    await using pair = await TestPair.open({ scheme, handle: async () => begun.resolve() });
    const connection = await pair.connect();
    const answer = ask(connection, Buffer.from("never answered"));
    const failed = assert.rejects(answer, { code: "closed" });
    await begun.promise;
    await connection.close();
    await failed;
    await assert.rejects(ask(connection, Buffer.from("too late")), { code: "closed" });
  });

  test("ends before a draining connection is closed", async () => {
    const begun = Promise.withResolvers<void>();
    const goOn = Promise.withResolvers<void>();
    await using pair = await TestPair.open({
      scheme,
      handle: async (stream) => {
        begun.resolve();
        await goOn.promise;
        await echo(stream);
      },
    });
    const connection = await pair.connect();
    const answer = ask(connection, Buffer.from("late"));
    await begun.promise;
    const drained = connection.drain();
    await assert.rejects(ask(connection, Buffer.from("new")), ConnectionError);
    goOn.resolve();
    assert.deepEqual(await answer, Buffer.from("late"));
    await drained;
  });

  test("arrives even if the server closes right after it", async () => {
    await using pair = await TestPair.open({
      scheme,
      handle: async (stream, connection) => {
        await echo(stream);
        await connection.close(0, "done");
      },
    });
    for (let round = 0; round < 20; round += 1) {
      const connection = await pair.connect();
      const body = Buffer.alloc(20_000, round);
      assert.deepEqual(await ask(connection, body), body);
      const reason = await connection.closed;
      assert.equal(reason.code, "closed");
    }
  });

  test("identifies the other side", async () => {
    await using pair = await TestPair.open({ scheme });
    const connection = await pair.connect();
    await ask(connection, Buffer.from("hello"));
    assert.equal(connection.peer?.name, "orchestrator");
    const [accepted] = pair.accepted;
    assert.equal(accepted?.peer?.name, "plugin-client");
    const { client } = await testCredentials();
    const { X509Certificate } = await import("node:crypto");
    const own = new X509Certificate(client.cert ?? "").fingerprint256;
    assert.equal(accepted.peer.fingerprint, own.replaceAll(":", "").toLowerCase());
  });
}

function pattern(size: number): Buffer {
  const bytes = Buffer.alloc(size);
  for (let at = 0; at < size; at += 1) bytes[at] = (at * 31 + (at >> 8)) & 255;
  return bytes;
}

function withTail(body: Buffer): Buffer {
  return Buffer.concat([body, Buffer.from("!")]);
}
