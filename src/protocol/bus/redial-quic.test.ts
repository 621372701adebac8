import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { testCredentials } from "../../../test/support/quic-pair.ts";
import { RebindingProxy } from "../../../test/support/rebinding-proxy.ts";
import { QuicEngine } from "../../wire/quic/quic-engine.ts";
import { connect, listen } from "../../wire/quic/transport.ts";
import type { Listener } from "../../wire/quic/connection.ts";
import { BusClient, LostError } from "./connect.ts";
import { type BusHandlers, serveExchange } from "./serve.ts";

const HEALTH = { case: "health", value: {} } as const;
const HANGS = { case: "toolCall", value: { toolName: "hang" } } as const;
/** Silence is noticed after a second or so. */
const IMPATIENT = { keepAlive: 600, idleTimeout: 300_000 };

/** A server and a client, with an engine each, and a NAT between them. */
class BehindNat implements AsyncDisposable {
  readonly client = new QuicEngine();
  readonly bus: BusClient;
  readonly proxy: RebindingProxy;
  readonly #listener: Listener;

  private constructor(listener: Listener, proxy: RebindingProxy) {
    this.#listener = listener;
    this.proxy = proxy;
    this.bus = new BusClient({
      name: "It",
      dial: async (signal) => {
        const { client: credentials } = await testCredentials();
        const options = { credentials, limits: IMPATIENT, signal };
        return connect(`quic://127.0.0.1:${proxy.port}`, options, this.client);
      },
    });
  }

  static async open(server: QuicEngine, handlers: BusHandlers): Promise<BehindNat> {
    const service = { handlers, report: () => {} };
    const { server: credentials } = await testCredentials();
    const listener = await listen(
      "quic://127.0.0.1:0",
      {
        ...{ credentials, limits: IMPATIENT },
        stream: (stream, connection) => void serveExchange(stream, connection, service),
      },
      server,
    );
    return new BehindNat(listener, await RebindingProxy.open(listener.port));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.bus[Symbol.asyncDispose]();
    await this.#listener[Symbol.asyncDispose]();
    await this.proxy[Symbol.asyncDispose]();
  }
}

describe("a client over QUIC", { timeout: 60_000 }, () => {
  const begun: (() => void)[] = [];
  const handlers: BusHandlers = {
    health: () => ({ case: "health", value: { message: "well" } }),
    toolCall: () => {
      for (const resolve of begun.splice(0)) resolve();
      return new Promise(() => {});
    },
  };

  it("goes on after its address has changed, and says which calls are lost", async (t) => {
    await using both = await BehindNat.open(new QuicEngine(), handlers);
    const hanging = new Promise<void>((resolve) => void begun.push(resolve));
    const lost = assert.rejects(both.bus.ask(HANGS), LostError);
    await hanging;
    await both.proxy.rebind();
    const since = performance.now();
    const { response } = await both.bus.ask(HEALTH, { again: true });
    assert.equal(response.case, "health");
    await lost;
    t.diagnostic(`it went on after ${Math.round(performance.now() - since)} ms`);
  });

  it("is told that the engine of the other side was killed", async (t) => {
    const server = new QuicEngine();
    await using both = await BehindNat.open(server, handlers);
    const hanging = new Promise<void>((resolve) => void begun.push(resolve));
    const lost = assert.rejects(both.bus.ask(HANGS), LostError);
    await hanging;
    const since = performance.now();
    process.kill((await server.pid()) ?? 0, "SIGKILL");
    await lost;
    t.diagnostic(`it was told after ${Math.round(performance.now() - since)} ms`);
    const { response } = await both.bus.ask(HEALTH, { again: true });
    assert.equal(response.case, "health");
  });
});
