import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, test } from "node:test";

import { ask, LIMIT, MiB, testCredentials, TestPair } from "../../../../test/support/quic-pair.ts";
import { encodeFrame } from "../../framing/length-prefixed.ts";
import { connect } from "../transport.ts";
import { QuicEngine, sharedEngine } from "../quic-engine.ts";

const HELLO = Buffer.from("hello");

function residentSize(pid: number | undefined): number {
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) * 1024;
}

describe("a peer that reads nothing of what it is sent", { timeout: 60_000 }, () => {
  const EXCHANGES = 300;

  test("is held back, and costs bounded memory", async () => {
    let begun = 0;
    let passedOn = 0;
    const allBegun = Promise.withResolvers<void>();
    const goOn = Promise.withResolvers<void>();
    await using pair = await TestPair.open({
      listen: { limits: { maxStreams: 1_000, keepAlive: 60_000 } },
      handle: async (stream) => {
        const request = await stream.readAll(LIMIT);
        if (request.length === HELLO.length + 4) return stream.end(request);
        if (++begun === EXCHANGES) allBegun.resolve();
        await goOn.promise;
        await stream.end(Buffer.alloc(MiB));
        passedOn++;
        return undefined;
      },
    });
    const honest = await pair.connect();
    // An engine of its own, which can be stopped alone.
    const engine = new QuicEngine();
    const { client } = await testCredentials();
    const connection = await connect(pair.listener.address, { credentials: client }, engine);
    const pid = (await engine.pid()) ?? 0;
    for (let count = 0; count < EXCHANGES; count++) {
      connection
        .openStream()
        .end(encodeFrame(Buffer.alloc(10)))
        .catch(() => {});
    }
    await allBegun.promise;
    const before = residentSize(await sharedEngine.pid());
    process.kill(pid, "SIGSTOP");
    try {
      goOn.resolve();
      // What can be passed on is, meanwhile; and others are served as ever.
      for (let count = 0; count < 50; count++) {
        assert.deepEqual(await ask(honest, HELLO), HELLO);
        await new Promise((resolve) => setTimeout(resolve, 10));
      }
      const grown = (residentSize(await sharedEngine.pid()) - before) / MiB;
      assert.ok(passedOn < 10, `${passedOn} answers of a MiB were taken off the program's hands`);
      assert.ok(grown < 100, `the engine has grown by ${Math.round(grown)} MiB`);
    } finally {
      process.kill(pid, "SIGKILL");
    }
  });
});
