// Long: an orchestrator and its plugins.
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";

import { encodeFrame } from "../../src/wire/framing/length-prefixed.ts";
import { bodyOf, decodeResponse, encodeRequest } from "../../src/protocol/bus/codec.ts";
import { serveExchange } from "../../src/protocol/bus/serve.ts";
import { connect } from "../../src/wire/quic/transport.ts";
import type { BidiStream, ConnectOptions } from "../../src/wire/quic/connection.ts";
import { BusHome, type OrchestratorProgram } from "../support/bus-home.ts";
import { busCredentials, HealthyClient } from "../support/bus-healthy.ts";
import { TestCa } from "../support/quic-certificates.ts";
import { TestPair } from "../support/quic-pair.ts";

const MiB = 1024 * 1024;

describe("an orchestrator with bad clients", { timeout: 600_000 }, () => {
  let home: BusHome;
  let orchestrator: OrchestratorProgram;
  let healthy: HealthyClient;
  before(async () => {
    home = new BusHome();
    orchestrator = await home.orchestrator([home.testPlugin()]);
    await orchestrator.logged("plugin.up");
    healthy = new HealthyClient(orchestrator.addr, home.certs);
  });
  after(async () => {
    await healthy[Symbol.asyncDispose]();
    await home[Symbol.asyncDispose]();
  });

  const dial = async (options: Partial<ConnectOptions> = {}) =>
    connect(orchestrator.addr, {
      credentials: await busCredentials(home.certs, "bad-client"),
      ...options,
    });

  const strangers: Readonly<Record<string, () => Promise<Partial<ConnectOptions>>>> = {
    "wrong-ca": async () => {
      const { ca } = await busCredentials(home.certs, "bad-client");
      const other = await (await TestCa.make()).issue("bad-client");
      return { credentials: { ...other, ca } };
    },
    "no-certificate": async () => {
      const { ca } = await busCredentials(home.certs, "bad-client");
      return { credentials: { ca } };
    },
    "wrong-alpn": async () => ({ alpn: "h3" }),
    "wrong-name": async () => ({ serverName: "somebody.else" }),
  };
  for (const [trouble, options] of Object.entries(strangers)) {
    it(`tells them what is wrong (${trouble}), and others are not affected`, async () => {
      const given = await options();
      await healthy.during(async () => {
        await assert.rejects(dial(given), { name: "TrunklineError", trouble });
      });
    });
  }

  const frames: Readonly<Record<string, readonly [Uint8Array, RegExp]>> = {
    "17 MiB": [encodeHuge(17 * MiB), /it has over 16777216 bytes/],
    truncated: [encodeFrame(Buffer.alloc(100)).subarray(0, 50), /its last 54 bytes are missing/],
    garbage: [
      encodeFrame(Buffer.from("\xff\xff\xff no message", "latin1")),
      /Cannot read a Plugin/,
    ],
    "nothing at all": [Buffer.alloc(0), /the stream ended before it/],
    "an empty request": [encodeFrame(Buffer.alloc(0)), /unrecognized request type/],
  };
  for (const [what, [bytes, expected]] of Object.entries(frames)) {
    it(`tells them that it is not a request (${what}), and others are not affected`, async () => {
      await using connection = await dial();
      await healthy.during(async () => {
        const { response } = decodeResponse(bodyOf(await exchange(connection.openStream(), bytes)));
        assert.equal(response.case, "toolCall");
        assert.equal(response.value.errorCode, "unknown_request");
        assert.match(response.value.errorMessage, expected);
      });
      // The connection itself is as good as before.
      const health = encodeRequest({ requestId: "1", request: { case: "health", value: {} } });
      const { response } = decodeResponse(bodyOf(await exchange(connection.openStream(), health)));
      assert.equal(response.case, "health");
    });
  }

  it("survives a thousand half-open streams", async () => {
    await healthy.during(async () => {
      const connections = await Promise.all(Array.from({ length: 10 }, () => dial()));
      for (const connection of connections) {
        for (let stream = 0; stream < 100; stream++) {
          void connection.openStream().write(Buffer.alloc(2));
        }
      }
      for (let call = 0; call < 20; call++) await healthy.call();
      await Promise.all(connections.map((connection) => connection.close()));
    });
  });

  it("limits what they add to the log", async () => {
    await using connection = await dial();
    const garbage = encodeFrame(Buffer.from("\xff\xff\xff", "latin1"));
    for (let call = 0; call < 200; call++) await exchange(connection.openStream(), garbage);
    const said = orchestrator.program.stderr.match(/"event":"bus\.unreadable"/g) ?? [];
    assert.ok(said.length > 0 && said.length < 50, `${said.length} lines`);
  });
});

describe("serveExchange()", { timeout: 600_000 }, () => {
  it("waits for a slow answer even if the client has not ended its side", async () => {
    const answered = Promise.withResolvers<undefined>();
    const health = { case: "health", value: { message: "late" } } as const;
    const handlers = { health: () => answered.promise.then(() => health) };
    const service = { handlers, report: () => {} };
    await using pair = await TestPair.open({
      limits: { requestIdle: 100 },
      handle: (stream, connection) => serveExchange(stream, connection, service),
    });
    const connection = await pair.connect();
    const request = encodeRequest({ requestId: "1", request: { case: "health", value: {} } });
    const waiting = connection.openStream();
    await waiting.write(request);
    // One that is not whole is given up in the same time, which is how long the other has waited.
    const unfinished = connection.openStream();
    await unfinished.write(request.subarray(0, 3));
    await assert.rejects(unfinished.readAll(1_000));
    answered.resolve(undefined);
    const { response } = decodeResponse(bodyOf(await waiting.readAll(1_000)));
    assert.equal(response.case, "health");
  });
});

/** A frame that says that it is so long, and is. */
function encodeHuge(size: number): Buffer {
  const frame = Buffer.alloc(4 + size);
  frame.writeUInt32BE(size);
  return frame;
}

/** What comes back for some bytes. That they could not all be sent is no matter. */
async function exchange(stream: BidiStream, bytes: Uint8Array): Promise<Buffer> {
  stream.end(bytes).catch(() => {});
  return stream.readAll(MiB);
}
