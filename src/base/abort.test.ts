import assert from "node:assert/strict";
import { getEventListeners } from "node:events";
import { describe, it } from "node:test";

import { atMost, onAbort, untilAborted } from "./abort.ts";

const never = new Promise<never>(() => {});

describe("onAbort()", () => {
  it("calls every listener once, in their order, but not one that no longer listens", () => {
    const controller = new AbortController();
    const heard: string[] = [];
    onAbort(controller.signal, ({ message }) => heard.push(`first: ${message}`));
    const stopListening = onAbort(controller.signal, () => heard.push("gone"));
    onAbort(controller.signal, ({ message }) => heard.push(`second: ${message}`));
    stopListening();
    controller.abort(new Error("enough"));
    controller.abort(new Error("again"));
    assert.deepEqual(heard, ["first: enough", "second: enough"]);
  });

  it("calls a later listener at once, with an error whatever the reason is", () => {
    const heard: Error[] = [];
    onAbort(AbortSignal.abort("just so"), (reason) => heard.push(reason));
    assert.deepEqual(heard, [new Error("just so")]);
  });

  it("lets one listener remove another while they are called", () => {
    const controller = new AbortController();
    let calls = 0;
    onAbort(controller.signal, () => stopSecond());
    const stopSecond = onAbort(controller.signal, () => calls++);
    controller.abort(new Error("enough"));
    assert.equal(calls, 0);
  });

  it("leaves no listener, and never calls one without a signal", () => {
    const { signal } = new AbortController();
    onAbort(signal, () => {})();
    assert.deepEqual(getEventListeners(signal, "abort"), []);
    onAbort(undefined, () => assert.fail("called"))();
  });
});

describe("untilAborted()", () => {
  it("gives what the promise gives, and leaves no listener", async () => {
    const { signal } = new AbortController();
    assert.equal(await untilAborted(Promise.resolve(1), signal), 1);
    assert.equal(await untilAborted(Promise.resolve(2)), 2);
    await assert.rejects(untilAborted(Promise.reject(new Error("no")), signal), /no/);
    assert.deepEqual(getEventListeners(signal, "abort"), []);
  });

  it("rejects with the reason of a signal that comes first, or came before", async () => {
    const controller = new AbortController();
    const waiting = untilAborted(new Promise(() => {}), controller.signal);
    controller.abort(new Error("enough"));
    await assert.rejects(waiting, /enough/);
    await assert.rejects(untilAborted(Promise.resolve(1), controller.signal), /enough/);
    await assert.rejects(
      untilAborted(Promise.reject(new Error("unhandled")), controller.signal),
      /enough/,
    );
  });
});

describe("atMost()", () => {
  it("settles as the promise does, if that is in time", async () => {
    assert.equal(await atMost(60_000, Promise.resolve(1)), 1);
    await assert.rejects(atMost(60_000, Promise.reject(new Error("no"))), /no/);
  });

  it("resolves to undefined, or rejects with a reason, when the time is up", async () => {
    assert.equal(await atMost(1, never), undefined);
    await assert.rejects(
      atMost(1, never, () => new Error("too late")),
      /too late/,
    );
  });
});
