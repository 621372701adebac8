import assert from "node:assert/strict";
import { PassThrough } from "node:stream";
import { text } from "node:stream/consumers";
import { describe, it } from "node:test";
import { setImmediate as turn } from "node:timers/promises";

import { RecordingSink } from "../../test/support/recording-sink.ts";
import type { Channel, ChannelLimits } from "../wire/channel.ts";
import { memoryPair } from "../wire/channel/memory.ts";
import { streamChannel } from "../wire/channel/stream.ts";
import type { PeerLimits } from "./peer-options.ts";
import { relay } from "./relay.ts";

interface Options {
  readonly limits?: Partial<PeerLimits>;
  readonly channel?: Partial<ChannelLimits>;
  readonly hops?: number;
}

/** One end of the line: what it sends and what reached it. */
class End extends RecordingSink {
  readonly #channel: Channel<string>;

  constructor(channel: Channel<string>) {
    super();
    this.#channel = channel;
    channel.receive(this);
  }

  send(message: unknown): void {
    void this.#channel.send(typeof message === "string" ? message : JSON.stringify(message));
  }

  /** Waits for so many messages in all and gives the last. */
  async received(count: number): Promise<string> {
    await this.until(({ messages }) => messages.length >= count);
    return this.messages.at(-1) ?? "";
  }

  async hangUp(error?: Error): Promise<void> {
    if (error === undefined) await this.#channel[Symbol.asyncDispose]();
    else this.#channel.abort(error);
  }
}

/** Two ends with one relay between them, or several in a chain. */
class Line implements AsyncDisposable {
  readonly left: End;
  readonly right: End;
  readonly over: Promise<unknown>;

  constructor({ limits = {}, channel = {}, hops = 1 }: Options = {}) {
    const pairs = Array.from({ length: hops + 1 }, () =>
      memoryPair({ closeGrace: 200, ...channel }),
    );
    const options = { cancelMethods: ["$/cancel", "notifications/cancelled"], limits };
    const relays = pairs.slice(1).map((pair, index) => {
      const [, near] = pairs[index] as (typeof pairs)[0];
      return relay(near, pair[0], options);
    });
    this.over = Promise.all(relays);
    this.left = new End((pairs[0] as (typeof pairs)[0])[0]);
    this.right = new End((pairs[hops] as (typeof pairs)[0])[1]);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([this.left.hangUp(), this.right.hangUp()]);
    await this.over;
  }
}

const idOf = (text: string) => (JSON.parse(text) as { id: unknown }).id;
const answerTo = (request: string, result: unknown) => ({
  jsonrpc: "2.0",
  id: idOf(request),
  result,
});

describe("relay", { timeout: 30_000 }, () => {
  for (const hops of [1, 2, 3]) {
    it(`gives each request its own id back, through ${hops} relays`, async () => {
      await using line = new Line({ hops });
      const ids = ["1", '"1"', "12345678901234567890", "1.5e300", '""', '"é\\n\\u0000"', "-7", "0"];
      for (const id of ids) line.left.send(`{"jsonrpc":"2.0","id":${id},"method":"m"}`);
      await line.right.received(ids.length);
      const ours = line.right.messages.map(idOf);
      assert.deepEqual(
        ours,
        ids.map((_, index) => index + 1),
      );
      // Answered in the opposite order.
      for (const text of line.right.messages.toReversed()) line.right.send(answerTo(text, null));
      await line.left.received(ids.length);
      const answers = ids.toReversed().map((id) => `{"jsonrpc":"2.0","id":${id},"result":null}`);
      assert.deepEqual(line.left.messages, answers);
    });
  }

  it("passes everything but the id byte for byte, both ways", async () => {
    await using line = new Line({ hops: 2 });
    const odd = [
      `"params":{"b":1.0,"a":12345678901234567890,"é":"\\u00e9\\/","__proto__":{"x":1},"1":-0,"0":1E5}`,
      `"params":[{"id":9,"method":"x"},"\\"id\\":7","}{][,:"],"_meta":{"unknown":[]},"jsonrpc":"2.0"`,
      ` "params" : { } , "zz" : 1e999 `,
      `"params":{"a":1,"a":2}`,
    ];
    for (const [index, rest] of odd.entries()) {
      line.left.send(`{"method":"m","id":"x",${rest}}`);
      const request = await line.right.received(index + 1);
      assert.equal(request, `{"method":"m","id":${index + 1},${rest}}`);
      line.right.send(`{"result":{${rest}} ,"id": ${index + 1} }`);
      assert.equal(await line.left.received(index + 1), `{"result":{${rest}} ,"id": "x" }`);
    }
    const notification = `{"params":{"n":1.0},"method":"n" ,"jsonrpc":"2.0"}`;
    line.left.send(notification);
    assert.equal(await line.right.received(odd.length + 1), notification);
  });

  it("puts a message on one line, whatever white space it came with", async () => {
    await using line = new Line();
    const pretty = JSON.stringify(
      { jsonrpc: "2.0", id: 5, method: "m", params: { a: "x\ny" } },
      null,
      2,
    );
    line.left.send(pretty.replaceAll("\n", "\r\n"));
    const request = await line.right.received(1);
    assert.ok(!/[\r\n]/.test(request));
    assert.deepEqual(JSON.parse(request), { ...JSON.parse(pretty), id: 1 });
  });

  it("passes one reading of a message that has several", async () => {
    await using line = new Line();
    const texts = [
      `{"id":1,"method":"a","id":2}`,
      `{"id":1,"method":"a","\\u0069d":3}`,
      `{"\\u0069d":4,"method":"a","id":5}`,
      `{"id":6,"method":"$/cancel","method":"a"}`,
      `{"id":7,"meth\\u006fd":"a","method":"a"}`,
      // To one parser a request, to another a notification.
      `{"id":1,"method":"a","id":null}`,
      `{"method":"$/cancel","method":"a","params":{"requestId":1}}`,
      `{"meth\\u006fd":"a","x":{"id":1}}`,
    ];
    for (const text of texts) line.left.send(text);
    await line.right.received(texts.length);
    const passed = line.right.messages.map((text) => text.match(/"(?:id|method)"/g)?.toSorted());
    for (const keys of passed.slice(0, 5)) assert.deepEqual(keys, ['"id"', '"method"']);
    assert.ok(line.right.messages.every((text) => !text.includes("\\u")));
    assert.equal(line.right.messages[5], `{"id":null,"method":"a"}`);
    assert.equal(line.right.messages[6], `{"method":"a","params":{"requestId":1}}`);
    assert.deepEqual(line.right.messages.slice(0, 5).map(idOf), [1, 2, 3, 4, 5]);
  });

  it("does not take an answer for a request that was never passed", async () => {
    await using line = new Line();
    line.left.send({ jsonrpc: "2.0", id: 77, method: "m" });
    const request = await line.right.received(1);
    for (const id of [2, 77, "1", null, 1.5, -1, [1]])
      line.right.send({ jsonrpc: "2.0", id, result: 0 });
    line.right.send({ jsonrpc: "2.0", result: 0 });
    line.right.send(answerTo(request, "once"));
    line.right.send(answerTo(request, "twice"));
    line.right.send({ jsonrpc: "2.0", method: "last" });
    await line.left.until(({ messages }) => messages.some((text) => text.includes("last")));
    assert.equal(line.left.messages.length, 2);
    assert.equal(line.left.messages[0], `{"jsonrpc":"2.0","id":77,"result":"once"}`);
  });

  it("keeps the requests of the two sides apart, though they share ids", async () => {
    await using line = new Line();
    line.left.send({ jsonrpc: "2.0", id: 1, method: "from left" });
    line.right.send({ jsonrpc: "2.0", id: 1, method: "from right" });
    const [toRight, toLeft] = await Promise.all([line.right.received(1), line.left.received(1)]);
    line.right.send(answerTo(toRight, "right's answer"));
    line.left.send(answerTo(toLeft, "left's answer"));
    assert.match(await line.left.received(2), /"id":1,"result":"right's answer"/);
    assert.match(await line.right.received(2), /"id":1,"result":"left's answer"/);
  });

  it("names a cancelled request as the other side knows it, both ways", async () => {
    await using line = new Line({ hops: 2 });
    const ids = ["abc", 5, 12345678901234567890n];
    for (const [from, to] of [
      [line.left, line.right],
      [line.right, line.left],
    ] as const) {
      const before = to.messages.length;
      from.send({ jsonrpc: "2.0", id: "other", method: "m" });
      for (const id of ids) {
        const text = typeof id === "string" ? `"${id}"` : String(id);
        from.send(`{"jsonrpc":"2.0","id":${text},"method":"m"}`);
        from.send(
          `{"jsonrpc":"2.0","method":"$/cancel","params":{"requestId":${text},"reason":"r"}}`,
        );
      }
      await to.received(before + 7);
      const sent = to.messages.slice(before).map((text) => JSON.parse(text));
      for (const at of [1, 3, 5]) {
        assert.deepEqual(sent[at + 1].params, { requestId: sent[at].id, reason: "r" });
      }
    }
  });

  it("drops the cancelling of a request that is not in flight", async () => {
    await using line = new Line();
    for (const params of [{ requestId: 1 }, {}, null, 5, { requestId: {} }, [], undefined]) {
      line.left.send({ jsonrpc: "2.0", method: "notifications/cancelled", params });
    }
    line.left.send({ jsonrpc: "2.0", method: "last" });
    assert.match(await line.right.received(1), /last/);
  });

  it("refuses what is no message, an id in flight, and more than may be in flight", async () => {
    await using line = new Line({ limits: { maxInFlight: 2 } });
    const texts = ["oops", "[]", "5", "null", `[{"jsonrpc":"2.0","id":1,"method":"m"}]`];
    for (const text of texts) line.left.send(text);
    for (const id of [1, 1, 2, 3]) line.left.send({ jsonrpc: "2.0", id, method: "m" });
    await line.left.received(7);
    const codes = line.left.messages.map((text) => {
      const { id, error } = JSON.parse(text) as { id: unknown; error: { code: number } };
      return [id, error.code];
    });
    const expected = [-32700, -32600, -32600, -32600, -32600].map((code) => [null, code]);
    assert.deepEqual(codes, [...expected, [1, -32600], [3, -32028]]);
    await line.right.received(2);
    line.right.send(answerTo(line.right.messages[0] ?? "", 0));
    await line.left.received(8);
    line.left.send({ jsonrpc: "2.0", id: 3, method: "m" });
    await line.right.received(3);
  });

  it("answers for messages over the limit, whichever way they went", async () => {
    await using line = new Line({ channel: { maxMessage: 10_000 } });
    const large = "x".repeat(20_000);
    line.left.send({ jsonrpc: "2.0", id: "big", method: "m", params: large });
    assert.match(await line.left.received(1), /"id":"big","error":\{"code":-32600/);
    line.left.send({ jsonrpc: "2.0", id: "ask", method: "m" });
    const request = await line.right.received(1);
    line.right.send(answerTo(request, large));
    assert.match(await line.left.received(2), /"id":"ask","error":\{"code":-32600/);
    line.right.send({ jsonrpc: "2.0", method: "n", params: large });
    assert.match(await line.right.received(2), /"id":null,"error"/);
  });

  it("answers for messages that are too complex, whichever way they went", async () => {
    await using line = new Line({ limits: { maxWork: 10_000 } });
    const many = Array(40_000).fill(0);
    line.left.send({ jsonrpc: "2.0", id: "big", method: "m", params: many });
    assert.match(await line.left.received(1), /"id":"big","error":\{"code":-32600/);
    line.left.send({ jsonrpc: "2.0", id: "ask", method: "m" });
    const request = await line.right.received(1);
    line.right.send(answerTo(request, many));
    assert.match(await line.left.received(2), /"id":"ask","error":\{"code":-32600/);
  });

  it("answers what waits for a side that dies, and closes the other", async () => {
    for (const error of [new Error("cable pulled"), undefined]) {
      const line = new Line({ hops: 2 });
      line.left.send({ jsonrpc: "2.0", id: "a", method: "m" });
      line.left.send({ jsonrpc: "2.0", id: "b", method: "m" });
      await line.right.received(2);
      await line.right.hangUp(error);
      await line.left.until(({ ends }) => ends.length > 0);
      assert.deepEqual(line.left.messages.map(idOf), ["a", "b"]);
      assert.ok(line.left.messages.every((text) => text.includes(`"code":-32603`)));
      await line.over;
    }
  });

  it("passes the answers still due to a side that has only finished sending", async () => {
    const [input, output] = [new PassThrough(), new PassThrough()];
    const [near, far] = memoryPair();
    const over = relay(streamChannel(input, output), near, { cancelMethods: [] });
    const right = new End(far);
    input.end(`{"id":"a","method":"m"}\n{"id":"b","method":"m"}\n`);
    await right.received(2);
    for (let i = 0; i < 5; i++) await turn();
    assert.deepEqual(right.ends, [], "closed before it could answer");
    for (const request of right.messages) right.send(answerTo(request, 0));
    await right.until(({ ends }) => ends.length > 0);
    const answers = ["a", "b"].map((id) => `{"jsonrpc":"2.0","id":"${id}","result":0}\n`);
    assert.equal(await text(output), answers.join(""));
    await over;
  });

  it("is over when one side hangs up and nothing waits", async () => {
    const line = new Line();
    await line.left.hangUp();
    await line.right.until(({ ends }) => ends.length > 0);
    await line.over;
  });

  it("holds the source while the target does not read", async () => {
    await using line = new Line({ channel: { highWater: 1000, maxUnsent: 1_000_000 } });
    line.right.hold = new Promise(() => {});
    const params = "x".repeat(500);
    for (let i = 0; i < 100; i++) {
      line.left.send({ jsonrpc: "2.0", method: "n", params });
      await turn();
    }
    assert.ok(line.right.messages.length < 20, `${line.right.messages.length} were delivered`);
    assert.deepEqual(line.right.ends, []);
  });
});
