import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { WireTap } from "../../test/support/wire-tap.ts";
import { RateLimiter } from "../base/rate-limiter.ts";
import { TrunklineError } from "../base/errors.ts";
import type { Call } from "./call.ts";
import { Lanes } from "./lanes.ts";
import { method } from "./method.ts";
import { route, routes } from "./route.ts";
import { RpcError } from "./rpc-error.ts";

interface Text {
  readonly text: string;
}

const echo = method<Text, Text>("echo", {
  check: (value) =>
    typeof (value as Partial<Text>).text === "string"
      ? undefined
      : { path: ["text"], says: "must be a string" },
});

/** A method whose calls stay open until the test ends them. */
function held() {
  const calls: (PromiseWithResolvers<unknown> & { call: Call<undefined> })[] = [];
  const handle = (_: unknown, call: Call<undefined>): Promise<unknown> => {
    const open = Promise.withResolvers<unknown>();
    calls.push({ ...open, call });
    return open.promise;
  };
  return { calls, route: route(method<unknown, unknown>("held"), handle) };
}

const echoRoute = route<Text, Text, undefined>(echo, ({ text }) => ({ text }));
const ask = (id: unknown, name: string, params?: unknown) => ({
  jsonrpc: "2.0",
  id,
  method: name,
  params,
});

describe("Peer", { timeout: 20_000 }, () => {
  it("answers each text with exactly this text", async () => {
    const table: [sent: string, answer: string][] = [
      // Ids come back as they went.
      [
        `{"jsonrpc":"2.0","id":1,"method":"echo","params":{"text":"a"}}`,
        `{"jsonrpc":"2.0","id":1,"result":{"text":"a"}}`,
      ],
      [
        `{"jsonrpc":"2.0","id":"1","method":"echo","params":{"text":"a"}}`,
        `{"jsonrpc":"2.0","id":"1","result":{"text":"a"}}`,
      ],
      [
        `{"jsonrpc":"2.0","id":-7,"method":"echo","params":{"text":"é🙂"}}`,
        `{"jsonrpc":"2.0","id":-7,"result":{"text":"é🙂"}}`,
      ],
      [
        `{"jsonrpc":"2.0","id":"","method":"echo","params":{"text":""}}`,
        `{"jsonrpc":"2.0","id":"","result":{"text":""}}`,
      ],
      [
        `{"jsonrpc":"2.0","id":12345678901234567890,"method":"echo","params":{"text":"a"}}`,
        `{"jsonrpc":"2.0","id":12345678901234567890,"result":{"text":"a"}}`,
      ],
      [
        `{"method":"echo","params":{"text":"\\"id\\":2"},"jsonrpc":"2.0","id":1.5e300}`,
        `{"jsonrpc":"2.0","id":1.5e300,"result":{"text":"\\"id\\":2"}}`,
      ],
      // The standard errors.
      [
        `{"jsonrpc":"2.0","id":1,"method":"nope"}`,
        `{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"Method not found","data":{"method":"nope"}}}`,
      ],
      [
        `{"jsonrpc":"2.0","id":1,"method":"echo","params":{}}`,
        `{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"Invalid params: 'params.text' must be a string"}}`,
      ],
      [
        `{"jsonrpc":"2.0","id":1,"method":"echo"}`,
        `{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"Invalid params: 'params.text' must be a string"}}`,
      ],
      [
        `{"jsonrpc":"1.0","id":1,"method":"echo"}`,
        `{"jsonrpc":"2.0","id":1,"error":{"code":-32600,"message":"Invalid Request: 'jsonrpc' must be \\"2.0\\""}}`,
      ],
      [
        `{"id":"x","method":"echo"}`,
        `{"jsonrpc":"2.0","id":"x","error":{"code":-32600,"message":"Invalid Request: 'jsonrpc' must be \\"2.0\\""}}`,
      ],
      [
        `{"jsonrpc":"2.0","id":{},"method":"echo"}`,
        `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Invalid Request: 'id' must be a string or a number"}}`,
      ],
      [
        `{"jsonrpc":"2.0","id":null,"method":"echo"}`,
        `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Invalid Request: 'id' must be a string or a number"}}`,
      ],
      [
        `{"jsonrpc":"2.0","id":1,"method":5}`,
        `{"jsonrpc":"2.0","id":1,"error":{"code":-32600,"message":"Invalid Request: 'method' must be a string"}}`,
      ],
      [
        `{"jsonrpc":"2.0","id":1}`,
        `{"jsonrpc":"2.0","id":1,"error":{"code":-32600,"message":"Invalid Request: 'method' is missing"}}`,
      ],
      [
        `17`,
        `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Invalid Request: message must be an object"}}`,
      ],
      [
        `[]`,
        `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Invalid Request: batch is empty"}}`,
      ],
    ];
    await using tap = new WireTap(routes(echoRoute));
    for (const [sent, answer] of table) assert.deepEqual(await tap.exchange([sent]), [answer]);
  });

  it("answers text that is not JSON with -32700 and a null id, and goes on", async () => {
    await using tap = new WireTap(routes(echoRoute));
    const answers = await tap.exchange(["{oops", "", ask(1, "echo", { text: "still here" })]);
    const [first, second, last] = answers.map((text) => JSON.parse(text));
    for (const parse of [first, second]) {
      assert.equal(parse.error.code, -32700);
      assert.equal(parse.error.message, "Parse error");
      assert.equal(parse.id, null);
    }
    assert.deepEqual(last.result, { text: "still here" });
  });

  it("never answers a notification, known or unknown, good or bad", async () => {
    await using tap = new WireTap(routes(echoRoute));
    const silent = [
      { jsonrpc: "2.0", method: "echo", params: { text: "a" } },
      { jsonrpc: "2.0", method: "echo", params: {} },
      { jsonrpc: "2.0", method: "nope" },
    ];
    const answers = await tap.exchange([...silent, ask(1, "echo", { text: "b" })], 1);
    assert.equal(answers.length, 1);
    assert.equal(JSON.parse(answers[0] ?? "").id, 1);
  });

  it("takes a null id for a notification where the dialect says so", async () => {
    await using tap = new WireTap(routes(echoRoute), { dialect: { nullIdIsNotification: true } });
    const [answer] = await tap.exchange(
      [ask(null, "echo", { text: "a" }), ask(2, "echo", { text: "b" })],
      1,
    );
    assert.equal(JSON.parse(answer ?? "").id, 2);
  });

  it("answers out of order when the first call takes longer", async () => {
    const slow = held();
    await using tap = new WireTap(routes(echoRoute, slow.route));
    const [first] = await tap.exchange([ask(1, "held"), ask(2, "echo", { text: "b" })], 1);
    assert.equal(JSON.parse(first ?? "").id, 2);
    slow.calls[0]?.resolve("done");
    await tap.until(({ messages }) => messages.length === 2);
    assert.equal(tap.messages[1], `{"jsonrpc":"2.0","id":1,"result":"done"}`);
  });

  it('keeps calls with ids 1 and "1" apart', async () => {
    const slow = held();
    await using tap = new WireTap(routes(slow.route));
    tap.write(ask(1, "held"));
    tap.write(ask("1", "held"));
    await tap.exchange([{ jsonrpc: "2.0", method: "$/cancel", params: { requestId: "1" } }], 1);
    assert.deepEqual(
      slow.calls.map(({ call }) => call.signal.aborted),
      [false, true],
    );
    assert.match(tap.messages[0] ?? "", /"id":"1","error":{"code":-32800/);
  });

  it("refuses an id that is in flight, and answers the first call all the same", async () => {
    const slow = held();
    await using tap = new WireTap(routes(slow.route));
    const [refused] = await tap.exchange([ask(1, "held"), ask(1, "held")], 1);
    assert.match(refused ?? "", /-32600.*id 1 belongs to a request in flight/);
    slow.calls[0]?.resolve("first");
    await tap.until(({ messages }) => messages.length === 2);
    assert.equal(slow.calls.length, 1);
    assert.match(tap.messages[1] ?? "", /"result":"first"/);
  });

  it("gives a cancelled call one answer, whatever the handler does afterwards", async () => {
    const slow = held();
    await using tap = new WireTap(routes(echoRoute, slow.route));
    tap.write(ask(1, "held"));
    const cancel = {
      jsonrpc: "2.0",
      method: "$/cancel",
      params: { requestId: 1, reason: "changed my mind" },
    };
    await tap.exchange([cancel, cancel], 1);
    assert.equal((slow.calls[0]?.call.signal.reason as Error).message, "changed my mind");
    slow.calls[0]?.resolve("late");
    await tap.exchange([ask(2, "echo", { text: "b" })]);
    assert.deepEqual(
      tap.messages.map((text) => JSON.parse(text).id),
      [1, 2],
    );
  });

  it("does not answer a cancelled call where the dialect forbids it", async () => {
    const slow = held();
    const cancel = { method: "notifications/cancelled" };
    await using tap = new WireTap(routes(echoRoute, slow.route), { dialect: { cancel } });
    tap.write(ask(1, "held"));
    tap.write({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: 1 } });
    await tap.exchange([ask(2, "echo", { text: "b" })]);
    assert.equal(slow.calls[0]?.call.signal.aborted, true);
    assert.deepEqual(
      tap.messages.map((text) => JSON.parse(text).id),
      [2],
    );
  });

  it("answers a call that takes too long with a timeout, counted from its last progress", async () => {
    const slow = held();
    const limited = { ...slow.route, timeout: 60 };
    await using tap = new WireTap(routes(limited));
    const started = performance.now();
    tap.write(ask(1, "held"));
    await new Promise((resolve) => setTimeout(resolve, 40));
    slow.calls[0]?.call.progressed();
    await tap.until(({ messages }) => messages.length === 1);
    assert.ok(performance.now() - started >= 95, "progress did not extend the limit");
    assert.equal(JSON.parse(tap.messages[0] ?? "").error.code, -32001);
    assert.equal(slow.calls[0]?.call.signal.aborted, true);
  });

  it("refuses a message over its method's size, naming both sizes", async () => {
    const limited = { ...echoRoute, maxSize: 100 };
    await using tap = new WireTap(routes(limited));
    const [refused, fine] = await tap.exchange([
      ask(1, "echo", { text: "é".repeat(50) }),
      ask(2, "echo", { text: "e".repeat(20) }),
    ]);
    const { error } = JSON.parse(refused ?? "");
    assert.equal(error.code, -32600);
    assert.equal(error.data.limit, 100);
    assert.ok(error.data.size > 100);
    assert.match(error.message, /'echo' may be at most 100 bytes, this is \d+/);
    assert.equal(JSON.parse(fine ?? "").id, 2);
  });

  it("refuses calls over their rate for one key, and says when to come back", async () => {
    const key = (params: unknown) => (params as Text).text;
    const rate = new RateLimiter({ limit: 2, windowMs: 60_000 });
    await using tap = new WireTap(routes({ ...echoRoute, rate, key }));
    const answers = await tap.exchange(
      ["a", "a", "a", "b"].map((text, i) => ask(i, "echo", { text })),
    );
    const [first, second, third, other] = answers.map((text) => JSON.parse(text));
    assert.ok(first.result && second.result && other.result);
    assert.equal(third.error.code, -32029);
    assert.ok(third.error.data.retryAfterMs > 59_000 && third.error.data.retryAfterMs <= 60_000);
  });

  it("runs the calls of one lane in order and one at a time, lanes side by side", async () => {
    const log: string[] = [];
    const work = route<Text, string, undefined>(method("work"), async ({ text }) => {
      log.push(`start ${text}`);
      await new Promise((resolve) => setTimeout(resolve, text === "a1" ? 30 : 1));
      log.push(`end ${text}`);
      if (text === "a2") throw new Error("a2 fails");
      return text;
    });
    const key = (params: unknown) => (params as Text).text.slice(0, 1);
    await using tap = new WireTap(routes({ ...work, lanes: new Lanes(), key }));
    await tap.exchange(["a1", "a2", "a3", "b1"].map((text, i) => ask(i, "work", { text })));
    const lane = (name: string) => log.filter((line) => line.includes(` ${name}`));
    assert.deepEqual(lane("a"), ["start a1", "end a1", "start a2", "end a2", "start a3", "end a3"]);
    assert.ok(log.indexOf("end b1") < log.indexOf("end a1"), log.join(", "));
  });

  it("does not run a call that was cancelled while it waited in its lane", async () => {
    const slow = held();
    const lane = { ...slow.route, lanes: new Lanes(), key: () => "one" };
    await using tap = new WireTap(routes(lane));
    tap.write(ask(1, "held"));
    tap.write(ask(2, "held"));
    await tap.exchange([{ jsonrpc: "2.0", method: "$/cancel", params: { requestId: 2 } }], 1);
    slow.calls[0]?.resolve("first");
    await tap.until(({ messages }) => messages.length === 2);
    await tap.exchange([ask(3, "held")], 0);
    await tap.exchange(["oops"], 1);
    assert.equal(slow.calls.length, 2, "calls 1 and 3 ran, 2 did not");
  });

  it("answers a batch with one array, in any order, without the notifications", async () => {
    await using tap = new WireTap(routes(echoRoute));
    const batch = [
      ask(1, "echo", { text: "a" }),
      { jsonrpc: "2.0", method: "echo" },
      5,
      ask("2", "nope"),
    ];
    const [answer] = await tap.exchange([batch], 1);
    const answers = JSON.parse(answer ?? "") as { id: unknown }[];
    assert.deepEqual(
      answers.map(({ id }) => id),
      [1, null, "2"],
    );
    const [next] = await tap.exchange(
      [[{ jsonrpc: "2.0", method: "echo" }], ask(9, "echo", { text: "b" })],
      1,
    );
    assert.equal(JSON.parse(next ?? "").id, 9);
  });

  it("refuses batches where the dialect has none", async () => {
    await using tap = new WireTap(routes(echoRoute), { dialect: { batches: false } });
    const [answer] = await tap.exchange([[ask(1, "echo", { text: "a" })]]);
    assert.match(
      answer ?? "",
      /"id":null,"error":{"code":-32600,"message":"Invalid Request: batches/,
    );
  });

  it("tells the caller a failure of ours in its own words, and a fault only by an id", async () => {
    const fail = (name: string, error: unknown) =>
      route<unknown, never, undefined>(method(name), () => {
        throw error;
      });
    await using tap = new WireTap(
      routes(
        fail("wire", new RpcError(-31900, "Session not found", { sessionId: "x" })),
        fail("ours", new TrunklineError("not-found", "Cannot find 'x'")),
        fail("fault", new Error("secret path /home/me")),
        route(method<unknown, unknown>("cyclic"), () => {
          const cycle: Record<string, unknown> = {};
          return Object.assign(cycle, { cycle });
        }),
      ),
    );
    const answers = await tap.exchange(
      ["wire", "ours", "fault", "cyclic"].map((name, i) => ask(i, name)),
    );
    const [wire, ours, fault, cyclic] = answers.map((text) => JSON.parse(text).error);
    assert.deepEqual(wire, {
      code: -31900,
      message: "Session not found",
      data: { sessionId: "x" },
    });
    assert.equal(ours.message, "Invalid params: Cannot find 'x'");
    assert.equal(fault.message, "Internal error");
    assert.equal(cyclic.code, -32603);
    assert.ok(!answers.join().includes("secret"));
    const report = tap.reports.find(
      ([, fields]) => fields.correlationId === fault.data.correlationId,
    );
    assert.match(String(report?.[1].error), /secret path/);
  });

  it("answers a message over the channel's limit with its id, wherever that stands", async () => {
    await using tap = new WireTap(routes(echoRoute), { channel: { maxMessage: 10_000 } });
    const text = "x".repeat(20_000);
    const answers = await tap.exchange([
      JSON.stringify({ jsonrpc: "2.0", id: "first", method: "echo", params: { text } }),
      JSON.stringify({ jsonrpc: "2.0", method: "echo", params: { text, id: 7 }, id: 42 }),
      JSON.stringify({ jsonrpc: "2.0", method: "echo", params: { text, id: 7 } }),
      ask(3, "echo", { text: "fits" }),
    ]);
    const [first, second, third, fits] = answers.map((answer) => JSON.parse(answer));
    assert.deepEqual([first.id, second.id, third.id], ["first", 42, null]);
    assert.equal(first.error.code, -32600);
    assert.equal(first.error.data.limit, 10_000);
    assert.deepEqual(fits.result, { text: "fits" });
  });

  it("refuses more calls in flight than its limit, and takes them again afterwards", async () => {
    const slow = held();
    await using tap = new WireTap(routes(slow.route), { limits: { maxInFlight: 2 } });
    const [refused] = await tap.exchange([ask(1, "held"), ask(2, "held"), ask(3, "held")], 1);
    assert.match(refused ?? "", /"id":3,"error":{"code":-32028/);
    slow.calls[0]?.resolve(1);
    await tap.until(({ messages }) => messages.length === 2);
    tap.write(ask(4, "held"));
    await tap.exchange(["oops"], 1);
    assert.equal(slow.calls.length, 3);
  });

  it("asks the other side, and takes its answers in any order", async () => {
    await using tap = new WireTap(routes());
    const first = tap.peer.request(echo, { text: "a" });
    const second = tap.peer.request(echo, { text: "b" });
    await tap.until(({ messages }) => messages.length === 2);
    assert.equal(tap.messages[0], `{"jsonrpc":"2.0","id":1,"method":"echo","params":{"text":"a"}}`);
    tap.write({ jsonrpc: "2.0", id: 2, error: { code: -5, message: "no", data: [1] } });
    tap.write({ jsonrpc: "2.0", id: 1, result: { text: "A" } });
    await assert.rejects(second, new RpcError(-5, "no", [1]));
    assert.deepEqual(await first, { text: "A" });
  });

  it("rejects an answer that is malformed or does not fit its method", async () => {
    await using tap = new WireTap(routes());
    const checked = method<unknown, Text>("checked", {
      checkResult: echo.check ?? (() => undefined),
    });
    const bad = [
      { result: {}, error: {} },
      { error: { code: "x" } },
      { error: null },
      { result: 5 },
    ];
    for (const [index, answer] of bad.entries()) {
      const asked = tap.peer.request(checked, {});
      tap.write({ jsonrpc: "2.0", id: index + 1, ...answer });
      await assert.rejects(asked, /'checked' is malformed/);
    }
  });

  it("reports answers nobody waits for, and carries on", async () => {
    await using tap = new WireTap(routes(echoRoute));
    tap.write({ jsonrpc: "2.0", id: 99, result: {} });
    tap.write({ jsonrpc: "2.0", id: "1", result: {} });
    tap.write({ jsonrpc: "2.0", id: null, error: { code: -32700, message: "Parse error" } });
    await tap.exchange([ask(1, "echo", { text: "a" })]);
    assert.deepEqual(
      tap.reports.map(([event]) => event),
      Array(3).fill("rpc.unknown-response"),
    );
  });

  it("gives up a request on a signal or a timeout, and tells the other side", async () => {
    await using tap = new WireTap(routes());
    const abort = new AbortController();
    const cancelled = tap.peer.request(echo, { text: "a" }, { signal: abort.signal });
    const expired = tap.peer.request(echo, { text: "b" }, { timeout: 20 });
    abort.abort(new Error("not needed"));
    await assert.rejects(cancelled, /not needed/);
    await assert.rejects(expired, (error: TrunklineError) => error.code === "timeout");
    await tap.until(({ messages }) => messages.length === 4);
    const sent = tap.messages
      .map((text) => JSON.parse(text))
      .filter((m) => m.method === "$/cancel");
    assert.deepEqual(
      sent.map(({ params }) => params.requestId),
      [1, 2],
    );
  });

  it("rejects what it asked when the connection ends, and everything afterwards", async () => {
    await using tap = new WireTap(routes());
    const asked = tap.peer.request(echo, { text: "a" });
    await tap.hangUp(new Error("cable pulled"));
    await assert.rejects(asked, (error: TrunklineError) => error.code === "closed");
    await assert.rejects(tap.peer.request(echo, { text: "b" }), /connection is closed/);
    await tap.peer.ended;
  });

  it("answers what is in flight when the input ends, then closes", async () => {
    const slow = held();
    await using tap = new WireTap(routes(slow.route));
    await tap.exchange([ask(1, "held"), "oops"], 1);
    const closing = tap.peer.close(5_000);
    slow.calls[0]?.resolve("in time");
    await closing;
    assert.match(tap.messages[1] ?? "", /"id":1,"result":"in time"/);
  });

  it("answers with an error what is still in flight when the grace is over", async () => {
    const slow = held();
    await using tap = new WireTap(routes(slow.route));
    await tap.exchange([ask(1, "held"), "oops"], 1);
    await tap.peer.close(10);
    assert.match(
      tap.messages[1] ?? "",
      /"id":1,"error":{"code":-32603,"message":"Internal error: shutting down/,
    );
    assert.equal(slow.calls[0]?.call.signal.aborted, true);
  });

  it("tells handlers when the connection dies", async () => {
    const slow = held();
    await using tap = new WireTap(routes(slow.route));
    await tap.exchange([ask(1, "held"), "oops"], 1);
    await tap.hangUp(new Error("cable pulled"));
    await tap.peer.ended;
    assert.equal(slow.calls[0]?.call.signal.aborted, true);
  });
});
