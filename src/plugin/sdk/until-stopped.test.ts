import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { untilStopped } from "./until-stopped.ts";

describe("untilStopped()", () => {
  it("yields all items, of asynchronous and synchronous sources", async () => {
    const both = [
      [1, 2, 3],
      (async function* () {
        yield* [1, 2, 3];
      })(),
    ];
    for (const source of both) {
      assert.deepEqual(
        await Array.fromAsync(untilStopped(source, new AbortController().signal)),
        [1, 2, 3],
      );
    }
  });

  it("throws the reason when it is stopped, and ends the source", async () => {
    const stopper = new AbortController();
    let isEnded = false;
    async function* source(): AsyncGenerator<number> {
      try {
        for (let number = 0; ; number++) yield number;
      } finally {
        isEnded = true;
      }
    }
    const read = async (): Promise<void> => {
      for await (const number of untilStopped(source(), stopper.signal)) {
        if (number === 3) stopper.abort(new Error("enough"));
      }
    };
    await assert.rejects(read, { message: "enough" });
    assert.ok(isEnded);
  });

  it("does not wait for a source that waits", async () => {
    const stopper = new AbortController();
    const waiting = Promise.withResolvers<void>();
    async function* source(): AsyncGenerator<number> {
      waiting.resolve();
      yield await new Promise<number>(() => {});
    }
    const read = Array.fromAsync(untilStopped(source(), stopper.signal));
    await waiting.promise;
    stopper.abort(new Error("gone"));
    await assert.rejects(read, { message: "gone" });
  });

  it("starts nothing if it was already stopped", async () => {
    const stopper = new AbortController();
    stopper.abort(new Error("too late"));
    let isBegun = false;
    async function* source(): AsyncGenerator<number> {
      isBegun = true;
      yield 1;
    }
    await assert.rejects(Array.fromAsync(untilStopped(source(), stopper.signal)), {
      message: "too late",
    });
    assert.ok(!isBegun);
  });

  it("ends the source when its reader leaves", async () => {
    const ended = Promise.withResolvers<void>();
    async function* source(): AsyncGenerator<number> {
      try {
        for (;;) yield 1;
      } finally {
        ended.resolve();
      }
    }
    for await (const _ of untilStopped(source(), new AbortController().signal)) break;
    await ended.promise;
  });
});
