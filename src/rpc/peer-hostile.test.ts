import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { ask, echo, echoRoute, heldRoute } from "../../test/support/peer-fixtures.ts";
import { RecordingSink } from "../../test/support/recording-sink.ts";
import { TEST_DIALECT, WireTap } from "../../test/support/wire-tap.ts";
import { RateLimiter } from "../base/limit/rate-limiter.ts";
import { memoryPair } from "../wire/channel/memory.ts";
import { request } from "./method.ts";
import { Peer } from "./peer.ts";
import { route, routes } from "./route.ts";
import { RpcError } from "./rpc-error.ts";

const echoAsk = (id: unknown) => ask(id, "echo", { text: "x" });
const notify = (name: string, params: unknown) => ({ jsonrpc: "2.0", method: name, params });

interface Answer {
  readonly id: unknown;
  readonly result?: unknown;
  readonly error?: { readonly code: number; readonly message: string; readonly data?: unknown };
}

const parse = (text: string | undefined) => JSON.parse(text ?? "") as Answer;

describe("Peer, with a hostile other side", { timeout: 600_000 }, () => {
  it("treats null as no parameters, in requests, notifications and cancelling", async () => {
    const plain = route(request<object>("plain"), (params) => Object.keys(params));
    await using tap = new WireTap(routes(echoRoute, plain));
    tap.write(notify("echo", null));
    tap.write(notify("$/cancel", null));
    const answers = await tap.exchange([ask(1, "echo", null), ask(2, "plain", null), echoAsk(3)]);
    assert.deepEqual(
      answers.map((text) => parse(text).error?.code),
      [-32602, undefined, undefined],
    );
    assert.deepEqual(parse(answers[1]).result, []);
  });

  it("reads slowly if every message is wrong, but answers requests", async () => {
    const [near, far] = memoryPair();
    const heard = new RecordingSink();
    far.receive(heard);
    const errorRate = { limit: 3, windowMs: 60_000 };
    const peer = new Peer(near, undefined, {
      dialect: TEST_DIALECT,
      routes: routes(echoRoute),
      errorRate,
    });
    for (let at = 0; at < 3; at++) assert.equal(peer.message("{oops"), undefined);
    for (let at = 0; at < 3; at++) assert.ok(peer.message("{oops") instanceof Promise);
    const pause = peer.message(JSON.stringify(ask(7, "nothing")));
    assert.ok(pause instanceof Promise);
    assert.equal(peer.message(JSON.stringify(echoAsk(8))), undefined);
    await heard.until(({ messages }) => messages.length >= 5);
    assert.deepEqual(
      heard.messages.map((text) => parse(text).id),
      [null, null, null, 7, 8],
    );
    // Nobody is kept waiting by a conversation that is over.
    await peer.close();
    await pause;
  });

  it("survives any value in place of a cancelled id", async () => {
    await using tap = new WireTap(routes(echoRoute));
    for (const params of [5, "x", [], {}, { requestId: null }, { requestId: {} }, true]) {
      tap.write(notify("$/cancel", params));
    }
    await tap.exchange([echoAsk(1)]);
    assert.equal(tap.messages.length, 1);
  });

  it("answers -32603 if a check or a key function throws, and continues", async () => {
    const fail = (): never => {
      throw new TypeError("no such thing");
    };
    const handle = () => assert.fail("must not run");
    const rate = new RateLimiter({ limit: 5, windowMs: 1000 });
    await using tap = new WireTap(
      routes(
        echoRoute,
        route(request("check", fail), handle),
        route(request("key"), handle, { rate, key: fail }),
      ),
    );
    for (const name of ["check", "key"]) tap.write(notify(name, {}));
    const answers = await tap.exchange([ask(1, "check"), ask(2, "key"), echoAsk(3)]);
    assert.deepEqual(
      answers.map((text) => parse(text).error?.code),
      [-32603, -32603, undefined],
    );
    const events = tap.reports.map(([event]) => event);
    assert.equal(events.filter((event) => event === "rpc.notification-failed").length, 2);
  });

  it("answers a message over the limit only with valid JSON", async () => {
    await using tap = new WireTap(routes(echoRoute), { channel: { maxMessage: 10_000 } });
    const long = "x".repeat(20_000);
    for (const id of ["007", '"\\x"', '"\\u12"', "-", "{}", '"a\tb"']) {
      tap.write(`{"jsonrpc":"2.0","id":${id},"result":"${long}"}`);
      const [answer] = await tap.exchange([`{"jsonrpc":"2.0","id":${id},"method":"${long}"}`], 1);
      assert.equal(parse(answer).id, null);
    }
    await tap.exchange([echoAsk(1)]);
  });

  it("answers a request that is too complex under its own id", async () => {
    await using tap = new WireTap(routes(echoRoute), { limits: { maxWork: 10_000, maxDepth: 50 } });
    const [wide, deep] = [Array(40_000).fill(0), JSON.parse("[".repeat(60) + "]".repeat(60))];
    const padding = "x".repeat(8192);
    const answers = await tap.exchange([
      ask("wide", "echo", wide),
      ask("deep", "echo", [deep, padding]),
      { jsonrpc: "2.0", method: "echo", params: wide, id: 7 },
      echoAsk(8),
    ]);
    const found = answers.map((text) => [parse(text).id, parse(text).error?.code]);
    assert.deepEqual(found, [
      ["wide", -32600],
      ["deep", -32600],
      [7, -32600],
      [8, undefined],
    ]);
  });

  it("fails its own request if the answer is too complex, too large or not UTF-8", async () => {
    await using tap = new WireTap(routes(), {
      limits: { maxWork: 10_000 },
      channel: { maxMessage: 90_000 },
    });
    const asked = [1, 2, 3].map(() => tap.peer.request(echo, { text: "" }));
    tap.write({ jsonrpc: "2.0", id: 1, result: Array(40_000).fill(0) });
    tap.write({ jsonrpc: "2.0", id: 2, result: "x".repeat(100_000) });
    const head = `{"jsonrpc":"2.0","id":3,"result":"\u{fffd}"}`;
    tap.peer.fault({ kind: "encoding", size: 40, limit: 100, head, tail: head });
    const failures = await Promise.allSettled(asked);
    for (const [index, says] of [/too many/, /over the limit/, /not valid UTF-8/].entries()) {
      assert.match(String((failures[index] as PromiseRejectedResult).reason), says);
    }
    await tap.exchange(["oops"], 4);
    assert.equal(tap.messages.length, 4, "nothing was sent but three requests and one answer");
  });

  it("fails its own request if the answer makes the method's check throw", async () => {
    await using tap = new WireTap(routes());
    const checked = request<unknown>("checked", undefined, (value) =>
      assert.fail(`cannot look into ${String(value)}`),
    );
    const asked = tap.peer.request(checked, {});
    tap.write({ jsonrpc: "2.0", id: 1, result: null });
    await assert.rejects(asked, /'checked' is malformed: 'result' cannot be checked/);
  });

  it("applies the limits to each message of a batch", async () => {
    const limited = { ...echoRoute, maxSize: 100 };
    await using tap = new WireTap(routes(limited), { limits: { maxInFlight: 3 } });
    const batch = `[${[
      `{"jsonrpc":"2.0","id":12345678901234567890,"method":"echo","params":{"text":"a"}}`,
      `{"jsonrpc":"2.0","id":2,"method":"echo","params":{"text":"${"x".repeat(100)}"}}`,
      `{"jsonrpc":"2.0","method":"echo","params":{"text":"b"}}`,
    ].join(" , ")}]`;
    const [answer] = await tap.exchange([batch], 1);
    assert.match(answer ?? "", /^\[\{"jsonrpc":"2.0","id":12345678901234567890,"result"/);
    const [, second] = JSON.parse(answer ?? "") as Answer[];
    assert.deepEqual([second?.id, second?.error?.code], [2, -32600]);
    assert.deepEqual(tap.reports, [], "the notification was not too large");
    const [refused] = await tap.exchange([[1, 2, 3, 4]], 1);
    assert.deepEqual([parse(refused).id, parse(refused).error?.code], [null, -32600]);
  });

  it("repeats only a limited part of a name", async () => {
    const slow = heldRoute();
    await using tap = new WireTap(routes(slow.route));
    const long = "x".repeat(100_000);
    const [unknown] = await tap.exchange([ask(1, long)]);
    assert.ok((unknown?.length ?? 0) < 1000);
    const [refused] = await tap.exchange([ask(long, "held")]);
    assert.ok((refused?.length ?? 0) < 1000);
    assert.deepEqual([parse(refused).id, parse(refused).error?.code], [null, -32600]);
    const id = "x".repeat(512);
    const [taken] = await tap.exchange([ask(id, "held"), ask(id, "held")], 1);
    assert.equal(parse(taken).id, id);
    assert.ok((parse(taken).error?.message.length ?? 0) < 400);
  });

  it("knows only its own methods, by their exact names", async () => {
    await using tap = new WireTap(routes(echoRoute));
    const names = ["__proto__", "constructor", "toString", "hasOwnProperty", "", "Echo", "echo "];
    const answers = await tap.exchange(names.map((name, id) => ask(id, name)));
    assert.ok(answers.every((text) => parse(text).error?.code === -32601));
  });

  it("answers with an error whose data JSON cannot represent", async () => {
    const data: Record<string, unknown> = { big: 1n };
    const throws = (): never => {
      throw new RpcError(-31900, "Session not found", Object.assign(data, { data }));
    };
    const later = route(request("later"), async () => throws());
    await using tap = new WireTap(routes(route(request("now"), throws), later));
    const answers = await tap.exchange([ask(1, "now"), ask(2, "later")]);
    for (const text of answers) {
      assert.deepEqual(parse(text).error, { code: -31900, message: "Session not found" });
    }
  });

  it("cancels a call by an id that JavaScript cannot represent, if it is unambiguous", async () => {
    const slow = heldRoute();
    await using tap = new WireTap(routes(slow.route));
    const request = (id: string) => `{"jsonrpc":"2.0","id":${id},"method":"held"}`;
    const cancel = (id: string) =>
      `{"jsonrpc":"2.0","method":"$/cancel","params":{"requestId":${id}}}`;
    for (const id of ["12345678901234567890", "77777777777777777777", "77777777777777777778"]) {
      tap.write(request(id));
    }
    tap.write(cancel("77777777777777777777"));
    await tap.exchange([cancel("12345678901234567890")], 1);
    assert.match(tap.messages[0] ?? "", /"id":12345678901234567890,"error":\{"code":-32800/);
    assert.deepEqual(
      slow.calls.map(({ call }) => call.signal.aborted),
      [true, false, false],
    );
  });

  it("forgets a request whose parameters JSON cannot represent", async () => {
    await using tap = new WireTap(routes());
    const signal = new AbortController();
    assert.throws(() =>
      tap.peer.request(request<unknown>("m"), 1n, { signal: signal.signal, timeout: 5 }),
    );
    signal.abort();
    const asked = tap.peer.request(request<object>("m"), {});
    await tap.until(({ messages }) => messages.length === 1);
    const { id } = parse(tap.messages[0]);
    tap.write({ jsonrpc: "2.0", id, result: "fine" });
    assert.equal(await asked, "fine");
    assert.equal(tap.messages.length, 1, "nothing was cancelled");
  });

  it("can be closed twice at once, each with its own grace", async () => {
    const slow = heldRoute();
    await using tap = new WireTap(routes(slow.route));
    await tap.exchange([ask(1, "held"), "oops"], 1);
    const patient = tap.peer.close(Infinity);
    const hasty = tap.peer.close(20);
    await Promise.all([patient, hasty]);
    assert.match(tap.messages[1] ?? "", /"id":1,"error":.*shutting down/);
  });
});
