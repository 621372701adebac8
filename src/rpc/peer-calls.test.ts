import { route } from "./route.ts";
import { routes } from "./route.ts";
import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { onAbort } from "../base/abort.ts";
import { Call, type Peer } from "./peer.ts";

import { ask, echoRoute, heldRoute, type Text } from "../../test/support/peer-fixtures.ts";
import { WireTap } from "../../test/support/wire-tap.ts";
import { RateLimiter } from "../base/limit/rate-limiter.ts";
import { TaskQueue } from "../base/limit/task-queue.ts";
import { nextTurn } from "../base/event-loop.ts";
import { request } from "./method.ts";

describe("Call", () => {
  const call = (): Call<undefined> => new Call({ state: undefined } as Peer, "m", {}, 1);

  it("is listened to as a signal is, and calls each listener once", () => {
    const it = call();
    const heard: Error[] = [];
    onAbort(it, () => assert.fail("called"))();
    onAbort(it, (reason) => {
      heard.push(reason);
      stopLast();
    });
    const stopLast = onAbort(it, () => assert.fail("called"));
    it.stop(new Error("enough"));
    it.stop(new Error("again"));
    onAbort(it, (reason) => heard.push(reason));
    assert.deepEqual(heard, [new Error("enough"), new Error("enough")]);
  });

  it("has one AbortSignal for what takes nothing else", () => {
    const it = call();
    const { signal } = it;
    assert.equal(signal, it.signal);
    assert.equal(signal.aborted, false);
    it.stop(new Error("enough"));
    assert.deepEqual(signal.reason, new Error("enough"));
    const stopped = call();
    stopped.stop(new Error("before"));
    assert.deepEqual(stopped.signal.reason, new Error("before"));
  });
});

describe("Peer, with calls in flight", { timeout: 600_000 }, () => {
  it("answers out of order if the first call takes longer", async () => {
    const slow = heldRoute();
    await using tap = new WireTap(routes(echoRoute, slow.route));
    const [first] = await tap.exchange([ask(1, "held"), ask(2, "echo", { text: "b" })], 1);
    assert.equal(JSON.parse(first ?? "").id, 2);
    slow.calls[0]?.resolve("done");
    await tap.until(({ messages }) => messages.length === 2);
    assert.equal(tap.messages[1], `{"jsonrpc":"2.0","id":1,"result":"done"}`);
  });

  it('keeps calls with ids 1 and "1" apart', async () => {
    const slow = heldRoute();
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

  it("refuses an id that is in flight, and still answers the first call", async () => {
    const slow = heldRoute();
    await using tap = new WireTap(routes(slow.route));
    const [refused] = await tap.exchange([ask(1, "held"), ask(1, "held")], 1);
    assert.match(refused ?? "", /-32600.*id 1 belongs to a request in flight/);
    slow.calls[0]?.resolve("first");
    await tap.until(({ messages }) => messages.length === 2);
    assert.equal(slow.calls.length, 1);
    assert.match(tap.messages[1] ?? "", /"result":"first"/);
  });

  it("answers a cancelled call once, whatever the handler does afterwards", async () => {
    const slow = heldRoute();
    await using tap = new WireTap(routes(echoRoute, slow.route));
    tap.write(ask(1, "held"));
    const cancel = {
      jsonrpc: "2.0",
      method: "$/cancel",
      params: { requestId: 1, reason: "changed my mind" },
    };
    await tap.exchange([cancel, cancel], 1);
    assert.match(String(slow.calls[0]?.call.signal.reason), /changed my mind/);
    slow.calls[0]?.resolve("late");
    await tap.exchange([ask(2, "echo", { text: "b" })]);
    assert.deepEqual(
      tap.messages.map((text) => JSON.parse(text).id),
      [1, 2],
    );
  });

  it("does not answer a cancelled call if the dialect forbids it", async () => {
    const slow = heldRoute();
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

  it("answers a call that takes too long with a timeout, counted from its last progress", async (t) => {
    let seconds = 0;
    t.mock.method(performance, "now", () => seconds * 1_000);
    t.mock.timers.enable({ apis: ["setTimeout"] });
    const pass = (time: number): void => {
      seconds += time;
      t.mock.timers.tick(time * 1_000);
    };
    const slow = heldRoute();
    await using tap = new WireTap(routes(echoRoute, { ...slow.route, timeout: 60_000 }));
    tap.write(ask(1, "held"));
    await tap.exchange([ask(2, "echo", { text: "b" })]);
    pass(40);
    slow.calls[0]?.call.progressed();
    pass(59);
    await tap.exchange([ask(3, "echo", { text: "b" })]);
    assert.equal(tap.messages.length, 2, "progress did not extend the limit");
    pass(1);
    await tap.until(({ messages }) => messages.length === 3);
    assert.equal(JSON.parse(tap.messages[2] ?? "").error.code, -32001);
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

  it("refuses calls over their rate for one key, and says when to retry", async () => {
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

  it("runs the calls of one lane in order and one at a time, and lanes in parallel", async () => {
    const log: string[] = [];
    const other = Promise.withResolvers<void>();
    const work = route<Text, string, undefined>(request("work"), async ({ text }) => {
      log.push(`start ${text}`);
      // One lane waits for the other, which is possible only if they run in parallel.
      await (text === "a1" ? other.promise : nextTurn());
      log.push(`end ${text}`);
      if (text === "b1") other.resolve();
      if (text === "a2") throw new Error("a2 fails");
      return text;
    });
    const key = (params: unknown) => (params as Text).text.slice(0, 1);
    await using tap = new WireTap(routes({ ...work, queue: new TaskQueue(), key }));
    await tap.exchange(["a1", "a2", "a3", "b1"].map((text, i) => ask(i, "work", { text })));
    const lane = (name: string) => log.filter((line) => line.includes(` ${name}`));
    assert.deepEqual(lane("a"), ["start a1", "end a1", "start a2", "end a2", "start a3", "end a3"]);
    assert.ok(log.indexOf("end b1") < log.indexOf("end a1"), log.join(", "));
  });

  it("does not run a call that was cancelled while it waited in its lane", async () => {
    const slow = heldRoute();
    const lane = { ...slow.route, queue: new TaskQueue(), key: () => "one" };
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

  it("refuses more calls in flight than its limit, and accepts them again afterwards", async () => {
    const slow = heldRoute();
    await using tap = new WireTap(routes(slow.route), { limits: { maxInFlight: 2 } });
    const [refused] = await tap.exchange([ask(1, "held"), ask(2, "held"), ask(3, "held")], 1);
    assert.match(refused ?? "", /"id":3,"error":{"code":-32028/);
    slow.calls[0]?.resolve(1);
    await tap.until(({ messages }) => messages.length === 2);
    tap.write(ask(4, "held"));
    await tap.exchange(["oops"], 1);
    assert.equal(slow.calls.length, 3);
  });

  it("answers calls in flight when the input ends, then closes", async () => {
    const slow = heldRoute();
    await using tap = new WireTap(routes(slow.route));
    await tap.exchange([ask(1, "held"), "oops"], 1);
    const closing = tap.peer.close(5_000);
    slow.calls[0]?.resolve("in time");
    await closing;
    assert.match(tap.messages[1] ?? "", /"id":1,"result":"in time"/);
  });

  it("answers calls that are still in flight after the grace with an error", async () => {
    const slow = heldRoute();
    await using tap = new WireTap(routes(slow.route));
    await tap.exchange([ask(1, "held"), "oops"], 1);
    await tap.peer.close(10);
    assert.match(
      tap.messages[1] ?? "",
      /"id":1,"error":{"code":-32033,"message":"Closed: shutting down/,
    );
    assert.equal(slow.calls[0]?.call.signal.aborted, true);
  });

  it("notifies handlers when the connection dies", async () => {
    const slow = heldRoute();
    await using tap = new WireTap(routes(slow.route));
    await tap.exchange([ask(1, "held"), "oops"], 1);
    await tap.hangUp(new Error("cable pulled"));
    await tap.peer.ended;
    assert.equal(slow.calls[0]?.call.signal.aborted, true);
  });
});
