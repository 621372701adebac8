import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { setImmediate as turn } from "node:timers/promises";

import { until } from "../../../test/support/until.ts";
import { ConnectionError } from "../../wire/quic/connection-error.ts";
import type { Connection } from "../../wire/quic/connection.ts";
import { MOST_AT_ONCE, newRedial } from "./connect.ts";

/** A connection of which only the life matters. */
class FakeConnection implements Connection {
  readonly address = "quic://nowhere:1";
  readonly peer = undefined;
  openStreams = 0;
  wear = 0;
  /** Resolved when nothing is under way on it. */
  readonly idle = Promise.withResolvers<void>();
  isClosed = false;
  readonly #closed = Promise.withResolvers<ConnectionError>();

  get closed(): Promise<ConnectionError> {
    return this.#closed.promise;
  }

  openStream(): never {
    throw new Error("Nobody opens streams here");
  }

  async drain(): Promise<void> {
    await this.idle.promise;
    this.lose("drained");
  }

  async close(): Promise<void> {
    this.lose("closed");
  }

  lose(why: string): void {
    this.isClosed = true;
    this.#closed.resolve(new ConnectionError("closed", why));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}

interface RedialSettings {
  readonly mostExchanges?: number;
  readonly mostConnections?: number;
  readonly failures?: number;
}

function redialling({ failures: given = 0, ...limits }: RedialSettings = {}) {
  const dialled: FakeConnection[] = [];
  const told: string[] = [];
  let failures = given;
  const redial = newRedial({
    name: "The other side",
    ...limits,
    dial: async () => {
      await turn();
      if (failures-- > 0) throw new ConnectionError("refused", "Nobody is there");
      const connection = new FakeConnection();
      dialled.push(connection);
      return connection;
    },
    connected: () => told.push("connected"),
    lost: ({ message }) => told.push(`lost: ${message}`),
  });
  const fail = (times: number): void => void (failures = times);
  return { redial, dialled, told, fail };
}

describe("Redial", () => {
  it("dials once for all concurrent callers, and keeps the connection", async () => {
    const { redial, dialled } = redialling();
    const got = await Promise.all([redial.get(), redial.get(), redial.get()]);
    got.push(await redial.get());
    assert.deepEqual([...new Set(got)], dialled);
    await redial[Symbol.asyncDispose]();
    assert.equal(dialled[0]?.isClosed, true);
  });

  it("reports at once why it is down, and reconnects by itself", async () => {
    const { redial, dialled, told } = redialling({ failures: 1 });
    await assert.rejects(async () => redial.get(), { message: "Nobody is there" });
    await assert.rejects(async () => redial.get(), {
      message: "The other side is not reachable; connecting again. Nobody is there",
    });
    await until(() => dialled.length > 0);
    await turn();
    assert.equal(await redial.get(), dialled[0]);
    assert.deepEqual(told, ["connected"]);
    await redial[Symbol.asyncDispose]();
  });

  it("dials again after the connection was lost", async () => {
    const { redial, dialled, told } = redialling();
    const first = (await redial.get()) as FakeConnection;
    first.lose("cable pulled");
    await turn();
    await assert.rejects(async () => redial.get(), /cable pulled/);
    await until(() => dialled.length >= 2);
    await turn();
    assert.equal(await redial.get(), dialled[1]);
    assert.deepEqual(told, ["connected", "lost: cable pulled", "connected"]);
    await redial[Symbol.asyncDispose]();
  });

  it("dials again at once if the connection had worked, and lets callers wait for it", async (t) => {
    t.mock.timers.enable({ apis: ["Date"] });
    const { redial, dialled, fail } = redialling();
    const first = (await redial.get()) as FakeConnection;
    t.mock.timers.tick(1_000);
    first.lose("cable pulled");
    const second = (await redial.get()) as FakeConnection;
    assert.deepEqual([second, dialled.length], [dialled[1], 2]);
    fail(1);
    t.mock.timers.tick(1_000);
    second.lose("pulled again");
    await assert.rejects(async () => redial.get(), {
      message: "The other side is not reachable; connecting again. Nobody is there",
    });
    await redial[Symbol.asyncDispose]();
  });

  it("replaces an old connection, and closes it after its last exchange", async () => {
    const { redial, dialled } = redialling({ mostExchanges: 3 });
    const first = (await redial.get()) as FakeConnection;
    for (let n = 0; n < 3; n++) assert.equal(await redial.get(), first);
    await until(() => dialled.length >= 2);
    await turn();
    const second = await redial.get();
    assert.equal(second, dialled[1]);
    assert.equal(first.isClosed, false);
    first.idle.resolve();
    await turn();
    assert.deepEqual([first.isClosed, second.isClosed], [true, false]);
    await redial[Symbol.asyncDispose]();
  });

  it("tells waiting callers that it is back, or why it is not", async () => {
    const { redial, dialled } = redialling({ failures: 1 });
    await assert.rejects(redial.back(0), /is not reachable/);
    await redial.back(10_000);
    const [first] = dialled;
    first?.lose("cable pulled");
    await redial.back(10_000);
    assert.equal(await redial.get(), dialled[1]);
    await redial[Symbol.asyncDispose]();
    await assert.rejects(redial.back(10_000), /closed on this side/);
  });

  it("rejects waiting callers once it is closed", async () => {
    const { redial } = redialling({ failures: Infinity });
    const waiting = assert.rejects(redial.back(10_000), /closed on this side/);
    await redial[Symbol.asyncDispose]();
    await waiting;
  });

  it("does not dial once it is closed", async () => {
    const { redial, dialled } = redialling();
    await redial[Symbol.asyncDispose]();
    await assert.rejects(async () => redial.get(), /closed on this side/);
    assert.equal(dialled.length, 0);
  });
});

describe("Redial with a full connection", () => {
  async function full(limits: RedialSettings = {}) {
    const opened = redialling(limits);
    const first = (await opened.redial.get()) as FakeConnection;
    first.openStreams = MOST_AT_ONCE;
    return { ...opened, first };
  }

  it("dials one connection for all concurrent requests, and another when that is full", async () => {
    const { redial, dialled } = await full();
    await using _ = redial;
    const found = await Promise.all([redial.get(), redial.get(), redial.get()]);
    assert.deepEqual([dialled.length, new Set(found).size], [2, 1]);
    const [, second] = dialled;
    assert.ok(second);
    second.openStreams = MOST_AT_ONCE - 1;
    assert.equal(redial.get(), second);
    second.openStreams = MOST_AT_ONCE;
    assert.equal(await redial.get(), dialled[2]);
  });

  it("uses the first one if all allowed connections are full", async () => {
    const { redial, dialled, first } = await full({ mostConnections: 2 });
    await using _ = redial;
    await redial.get();
    for (const connection of dialled) connection.openStreams = MOST_AT_ONCE;
    assert.equal(redial.get(), first);
  });

  it("replaces a worn connection", async () => {
    const { redial, dialled } = await full({ mostExchanges: 100 });
    await using _ = redial;
    const second = (await redial.get()) as FakeConnection;
    second.wear = 100;
    second.idle.resolve();
    assert.equal(await redial.get(), dialled[2]);
    await until(() => second.isClosed);
  });

  it("closes all, also one that is being dialled", async () => {
    const { redial, dialled } = await full();
    const getting = redial.get();
    const refused = assert.rejects(async () => getting, /closed on this side/);
    await redial[Symbol.asyncDispose]();
    await refused;
    assert.deepEqual(
      dialled.map(({ isClosed }) => isClosed),
      [true, true],
    );
  });
});
