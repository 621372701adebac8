import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { ConnectionError } from "../../wire/quic/connection-error.ts";
import type { Connection } from "../../wire/quic/connection.ts";
import { FurtherConnections, MOST_AT_ONCE } from "./redial.ts";

/** A connection that carries as many exchanges as it is told. */
class Carrying implements Connection {
  readonly address = "memory";
  readonly peer = undefined;
  readonly #closed = Promise.withResolvers<ConnectionError>();
  readonly closed = this.#closed.promise;
  openStreams = 0;
  wear = 0;
  isClosed = false;

  openStream(): never {
    throw new Error("Not opened here");
  }

  async drain(): Promise<void> {
    await this.close();
  }

  async close(): Promise<void> {
    this.isClosed = true;
    this.#closed.resolve(new ConnectionError("closed", "It was closed"));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}

function open(most = 2) {
  const dialled: Carrying[] = [];
  const dial = async (): Promise<Connection> => {
    const connection = new Carrying();
    dialled.push(connection);
    return connection;
  };
  return { dialled, further: new FurtherConnections({ dial, most, mostExchanges: 100 }) };
}

describe("FurtherConnections", () => {
  it("dials one connection for all concurrent requests, and another when that is full", async () => {
    const { dialled, further } = open();
    await using _ = further;
    const found = await Promise.all([further.get(), further.get(), further.get()]);
    assert.deepEqual([dialled.length, new Set(found).size], [1, 1]);
    const [first] = dialled;
    assert.ok(first);
    first.openStreams = MOST_AT_ONCE - 1;
    assert.equal(further.get(), first);
    first.openStreams = MOST_AT_ONCE;
    assert.equal(await further.get(), dialled[1]);
  });

  it("has none left if all allowed connections are full", async () => {
    const { dialled, further } = open(1);
    await using _ = further;
    await further.get();
    for (const connection of dialled) connection.openStreams = MOST_AT_ONCE;
    assert.equal(further.get(), undefined);
  });

  it("replaces a worn connection", async () => {
    const { dialled, further } = open();
    await using _ = further;
    await further.get();
    const [first] = dialled;
    assert.ok(first);
    first.wear = 100;
    assert.notEqual(await further.get(), first);
    assert.equal(first.isClosed, true);
  });

  it("closes all, also one that is being dialled", async () => {
    const { dialled, further } = open();
    const getting = further.get();
    const refused = assert.rejects(async () => getting, /closed on this side/);
    await further[Symbol.asyncDispose]();
    await refused;
    assert.deepEqual(
      dialled.map(({ isClosed }) => isClosed),
      [true],
    );
  });
});
