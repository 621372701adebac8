import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { memoryClient } from "../../../test/support/linked-plugin.ts";
import { keepEngine, TestPair } from "../../../test/support/quic-pair.ts";
import { covers } from "../../../test/support/requirement.ts";
import { memoryConnection } from "../../plugin/sdk/test/memory-connection.ts";
import type { Connection } from "../../wire/quic/connection.ts";
import { bodyOf, decodeResponse, encodeRequest, type RequestInit } from "./codec.ts";
import { type BusHandlers, Ledger, type LedgerLimits, serveExchange } from "./serve.ts";
import { until } from "../../../test/support/until.ts";

const HEALTH = { case: "health", value: {} } as const;
const CALL = { case: "toolCall", value: { toolName: "wait" } } as const;

/** A service whose calls wait until they are let go, with a ledger for whoever asks. */
class Guarded implements AsyncDisposable {
  readonly ledger: Ledger;
  readonly #pair: TestPair;
  readonly #letGo: PromiseWithResolvers<void>;

  private constructor(pair: TestPair, ledger: Ledger, letGo: PromiseWithResolvers<void>) {
    this.#pair = pair;
    this.ledger = ledger;
    this.#letGo = letGo;
  }

  static async open(limits: Partial<LedgerLimits>): Promise<Guarded> {
    const ledger = new Ledger({ exchanges: 1_000, bytes: 1024 * 1024 * 1024, ...limits });
    const letGo = Promise.withResolvers<void>();
    const handlers: BusHandlers = {
      health: () => ({ case: "health", value: { message: "x".repeat(100_000) } }),
      toolCall: async () => {
        await letGo.promise;
        return { case: "toolCall", value: { success: true } };
      },
    };
    const guard = { ledgerOf: () => ledger, begin: (_: Ledger, work: () => void) => work() };
    const service = { handlers, report: () => {}, guard };
    const pair = await TestPair.open({
      handle: (stream, connection) => serveExchange(stream, connection, service),
    });
    return new Guarded(pair, ledger, letGo);
  }

  connect(): Promise<Connection> {
    return this.#pair.connect();
  }

  letGo(): void {
    this.#letGo.resolve();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.letGo();
    await this.#pair[Symbol.asyncDispose]();
  }
}

async function ask(connection: Connection, request: NonNullable<RequestInit["request"]>) {
  const stream = connection.openStream();
  void stream.end(encodeRequest({ requestId: "1", request }));
  return decodeResponse(bodyOf(await stream.readAll(1_000_000))).response;
}

describe("a guarded service", { timeout: 30_000 }, () => {
  keepEngine();

  it("refuses one request too many with a message, over all connections", async () => {
    await using guarded = await Guarded.open({ exchanges: 2 });
    const [first, second] = [await guarded.connect(), await guarded.connect()];
    const running = [ask(first, CALL), ask(second, CALL)];
    await until(() => guarded.ledger.exchanges === 2);
    const refused = await ask(first, HEALTH);
    assert.equal(refused.case, "toolCall");
    assert.equal(refused.value.errorCode, "limit");
    assert.match(refused.value.errorMessage, /you have 2 requests running, the most at once/);
    guarded.letGo();
    for (const { case: kind } of await Promise.all(running)) assert.equal(kind, "toolCall");
    await until(() => guarded.ledger.isIdle);
    assert.equal((await ask(first, HEALTH)).case, "health");
  });

  it("aborts the oldest of too many unfinished requests", async () => {
    await using guarded = await Guarded.open({ exchanges: 3 });
    const connection = await guarded.connect();
    const unfinished = Array.from({ length: 5 }, () => connection.openStream());
    for (const stream of unfinished) await stream.write(Buffer.alloc(2));
    const [first, second, third] = unfinished;
    for (const stream of [first, second]) await assert.rejects(async () => stream?.readAll(10));
    assert.equal((await ask(connection, HEALTH)).case, "health");
    third?.reset();
  });

  it("limits the total size of collected requests", async () => {
    await using guarded = await Guarded.open({ bytes: 200_000 });
    const connection = await guarded.connect();
    const unfinished = connection.openStream();
    const prefix = Buffer.alloc(4);
    prefix.writeUInt32BE(1_000_000);
    void unfinished.write(Buffer.concat([prefix, Buffer.alloc(150_000)]));
    await until(() => guarded.ledger.bytes >= 150_000);
    const large = { toolName: "wait", arguments: { text: "x".repeat(100_000) } };
    const refused = await ask(connection, { case: "toolCall", value: large });
    assert.equal(refused.case, "toolCall");
    assert.match(refused.value.errorMessage, /over 200000 bytes/);
    unfinished.reset();
    await until(() => guarded.ledger.isIdle);
  });

  it("counts the memory of a request with many small parts once it is parsed", async () => {
    await using guarded = await Guarded.open({ bytes: 500_000 });
    const list = Array.from({ length: 10_000 }, () => ({}));
    const value = { toolName: "wait", arguments: { list } };
    const refused = await ask(await guarded.connect(), { case: "toolCall", value });
    assert.equal(refused.case, "toolCall");
    assert.match(refused.value.errorMessage, /over 500000 bytes/);
    await until(() => guarded.ledger.isIdle);
  });

  it("sends a short answer if there is no room for a long one", async () => {
    await using guarded = await Guarded.open({ bytes: 50_000 });
    const refused = await ask(await guarded.connect(), HEALTH);
    assert.equal(refused.case, "toolCall");
    assert.equal(refused.value.errorCode, "limit");
    await until(() => guarded.ledger.isIdle);
  });

  it("stops reading a stream on which frame follows frame", async () => {
    await using guarded = await Guarded.open({});
    const stream = (await guarded.connect()).openStream();
    const cancel = encodeRequest({ request: { case: "streamCancel", value: { streamId: "x" } } });
    void stream.write(encodeRequest({ requestId: "1", request: CALL }));
    for (let count = 0; count < 10_000; count++) stream.write(cancel).catch(() => {});
    await until(() => guarded.ledger.exchanges === 1);
    guarded.letGo();
    const { response } = decodeResponse(bodyOf(await stream.readAll(1_000)));
    assert.equal(response.case, "toolCall");
  });
});

describe("a service", () => {
  it("answers unhandled and unknown requests with unknown_request", async () => {
    covers("bus.failure.unknown", "bus.failure.codes");
    await using client = memoryClient({});
    const { response } = await client.ask(HEALTH);
    assert.equal(response.case, "toolCall");
    const { success, errorCode, errorMessage } = response.value;
    assert.deepEqual(
      [success, errorCode, errorMessage],
      [false, "unknown_request", "unrecognized request type"],
    );
  });

  it("reveals only an id of a bug to its caller, and logs the cause", async () => {
    const reported: Record<string, unknown>[] = [];
    const handlers: BusHandlers = {
      health: () => {
        throw new RangeError("a bug of ours");
      },
    };
    const report = (_: string, fields: Record<string, unknown>) => void reported.push(fields);
    const connection = await memoryConnection((stream, self) => {
      void serveExchange(stream, self, { handlers, report });
    });
    const response = await ask(connection, HEALTH);
    assert.equal(response.case, "toolCall");
    assert.match(response.value.errorMessage, /^Internal error [0-9a-f-]{36}$/);
    assert.equal(reported.length, 1);
    assert.match(String(reported[0]?.error), /a bug of ours/);
  });
});
