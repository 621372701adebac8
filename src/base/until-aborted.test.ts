import assert from "node:assert/strict";
import { getEventListeners } from "node:events";
import { describe, it } from "node:test";

import { untilAborted } from "./until-aborted.ts";

describe("untilAborted", () => {
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
