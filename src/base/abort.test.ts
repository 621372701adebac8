import assert from "node:assert/strict";
import { getEventListeners } from "node:events";
import { describe, it } from "node:test";

import { onAbort } from "./abort.ts";

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
