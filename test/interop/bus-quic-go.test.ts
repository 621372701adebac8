import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { before, describe, it } from "node:test";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

import { newRedial } from "../../src/protocol/bus/connect.ts";
import { encodeFrame, MAX_FRAME } from "../../src/wire/framing/length-prefixed.ts";
import { connect, listen } from "../../src/wire/quic/transport.ts";
import type { Connection } from "../../src/wire/quic/connection.ts";
import { sharedEngine } from "../../src/wire/quic/quic-engine.ts";
import { BusHome } from "../support/bus-home.ts";
import { busCredentials } from "../support/bus-healthy.ts";
import { quicPeer } from "./quic-go/peer.ts";
import { PeerProcess } from "./quic-go/peer-process.ts";

const KiB = 1024;
const MiB = 1024 * KiB;
const AT_ONCE = 32;

/**
 * Bytes of a body, and how many calls are made with it. 10,000 calls of 1 MiB move 20 GiB, which
 * takes 2 cores several minutes: `BUS_CALLS=10000` makes as many of every size.
 */
const SIZES = [
  [0, 10_000],
  [KiB, 10_000],
  [100 * KiB, 10_000],
  [MiB, 2_000],
] as const;
const { BUS_CALLS } = process.env;

/** How much more memory may be held at the end than after the first quarter of the calls. */
const mostGrowth = (size: number): number => (size > KiB ? 128 * MiB : 32 * MiB);

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as () => void;

/** Memory of this process and of the one that runs QUIC for it, without what nobody uses. */
async function memory(): Promise<number> {
  collect();
  const status = readFileSync(`/proc/${await sharedEngine.pid()}/status`, "utf8");
  return process.memoryUsage.rss() + Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) * KiB;
}

/** Calls so many times, 32 at once, and compares each answer. */
async function callMany(
  open: () => Connection | Promise<Connection>,
  calls: number,
  size: number,
): Promise<void> {
  let next = 0;
  const caller = async (): Promise<void> => {
    for (let call = next++; call < calls; call = next++) {
      const frame = encodeFrame(Buffer.alloc(size, call));
      const opened = open();
      // At once where there is a connection: a moment later it may be one that takes nothing new.
      const stream = (opened instanceof Promise ? await opened : opened).openStream();
      void stream.end(frame);
      const answer = await stream.readAll(MAX_FRAME + 4);
      assert.ok(answer.equals(frame), `call ${call}: ${answer.length} bytes came back`);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, caller));
}

describe("the bus and quic-go", { timeout: 3_600_000 }, () => {
  before(() => quicPeer());

  for (const [size, usual] of SIZES) {
    const calls = Number(BUS_CALLS ?? usual);

    it(`answers ${calls} calls of ${size} bytes from quic-go, ${AT_ONCE} at once`, async (t) => {
      await using home = new BusHome();
      const connections: Connection[] = [];
      await using listener = await listen("localhost:0", {
        credentials: await busCredentials(home.certs, "orchestrator"),
        connected: (connection) => void connections.push(connection),
        stream: (stream) => {
          void stream.readAll(MAX_FRAME + 4).then((bytes) => stream.end(bytes));
        },
      });
      const addr = listener.address.replace("quic://", "");
      const load = async (count: number): Promise<number> => {
        const where = [`--addr=${addr}`, `--certs-dir=${home.certs}`, "--timeout=60s"];
        const what = [`--calls=${count}`, `--size=${size}`, `--concurrency=${AT_ONCE}`];
        const { code, lines, stderr } = await PeerProcess.run(["load", ...where, ...what]);
        assert.equal(code, 0, `${stderr}${JSON.stringify(lines)}`);
        assert.deepEqual([lines[0]?.calls, lines[0]?.errors], [count, 0]);
        return Number(lines[0]?.ms);
      };
      const warmUp = Math.ceil(calls / 4);
      let ms = await load(warmUp);
      const held = await memory();
      ms += await load(calls - warmUp);
      const growth = (await memory()) - held;
      tell(t, calls, ms, growth);
      assert.ok(
        growth < mostGrowth(size),
        `${growth} bytes more are held than after ${warmUp} calls`,
      );
      for (const connection of connections) assert.equal(connection.openStreams, 0);
    });

    it(`gets ${calls} answers of ${size} bytes from quic-go, ${AT_ONCE} at once`, async (t) => {
      await using home = new BusHome();
      await using server = await PeerProcess.serve("echo-server", `--certs-dir=${home.certs}`);
      const credentials = await busCredentials(home.certs, "transport.stdio-client");
      const connections: Connection[] = [];
      const redial = newRedial({
        name: "The peer",
        dial: () => connect(server.addr, { credentials }),
        connected: (connection) => void connections.push(connection),
      });
      const warmUp = Math.ceil(calls / 4);
      const start = performance.now();
      await callMany(() => redial.get(), warmUp, size);
      const held = await memory();
      await callMany(() => redial.get(), calls - warmUp, size);
      const growth = (await memory()) - held;
      tell(t, calls, performance.now() - start, growth);
      assert.ok(
        growth < mostGrowth(size),
        `${growth} bytes more are held than after ${warmUp} calls`,
      );
      for (const connection of connections) assert.equal(connection.openStreams, 0);
      await redial[Symbol.asyncDispose]();
      // A connection is changed for a new one every 5,000 calls, or earlier if it grows slow.
      assert.ok(connections.length >= 1 + Math.floor((calls - 1) / 5_000));
      const { streams, failed, unfinished, connections: taken } = await server.stop();
      assert.deepEqual([streams, failed, unfinished, taken], [calls, 0, 0, connections.length]);
    });
  }

  it("loses no stream to a server that never reads the end", async () => {
    await using home = new BusHome();
    const flags = [`--certs-dir=${home.certs}`, "--original-defect"];
    await using server = await PeerProcess.serve("echo-server", ...flags);
    const credentials = await busCredentials(home.certs, "transport.stdio-client");
    await using connection = await connect(server.addr, { credentials });
    for (const size of [0, KiB, 20 * KiB]) await callMany(() => connection, 1_000, size);
    await connection.close();
    const { streams, finWithBody, unfinished } = await server.stop();
    assert.deepEqual([streams, finWithBody, unfinished], [3_000, 3_000, 0]);
  });

  it("answers clients that end their side separately from the request, or after the answer", async () => {
    await using home = new BusHome();
    await using listener = await listen("localhost:0", {
      credentials: await busCredentials(home.certs, "orchestrator"),
      stream: (stream) => {
        // Answers as soon as the request is there, as the bus does.
        void (async () => {
          for await (const chunk of stream.chunks()) await stream.write(chunk);
          await stream.end();
        })().catch(() => {});
      },
    });
    const where = [
      `--addr=${listener.address.replace("quic://", "")}`,
      `--certs-dir=${home.certs}`,
    ];
    for (const sending of ["split", "late-end"]) {
      const what = ["--calls=1000", "--concurrency=32", `--sending=${sending}`];
      const { code, lines, stderr } = await PeerProcess.run(["load", ...where, ...what]);
      assert.equal(code, 0, `${sending}: ${stderr}${JSON.stringify(lines)}`);
    }
  });
});

function tell(
  t: { diagnostic(message: string): void },
  calls: number,
  ms: number,
  growth: number,
): void {
  const rate = Math.round(calls / (ms / 1_000));
  const held = (growth / MiB).toFixed(1);
  t.diagnostic(`${rate} calls/s, ${held} MiB more held after the first quarter of them`);
}
