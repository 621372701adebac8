import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { setImmediate as turn } from "node:timers/promises";

import { Pace } from "./pace.ts";

/** Work that is done when it is told so. */
class Works {
  readonly begun: number[] = [];
  readonly #ends = new Map<number, PromiseWithResolvers<number>>();

  begin(pace: Pace, at: number, signal = new AbortController().signal): Promise<number> {
    const end = Promise.withResolvers<number>();
    this.#ends.set(at, end);
    return pace.run(() => {
      this.begun.push(at);
      return end.promise;
    }, signal);
  }

  async end(at: number): Promise<void> {
    this.#ends.get(at)?.resolve(at);
    await turn();
  }
}

describe("Pace", () => {
  it("begins so many at once, and the next when one is done or has failed", async () => {
    const pace = new Pace({ most: 2, longest: 60_000 });
    const works = new Works();
    const all = [1, 2, 3].map((at) => works.begin(pace, at));
    const fail = (): Promise<never> => Promise.reject(new Error("failed"));
    const failing = assert.rejects(pace.run(fail, new AbortController().signal), /failed/);
    const last = works.begin(pace, 5);
    await turn();
    assert.deepEqual(works.begun, [1, 2]);
    await works.end(2);
    assert.deepEqual(works.begun, [1, 2, 3]);
    await works.end(1);
    await failing;
    await turn();
    assert.deepEqual(works.begun, [1, 2, 3, 5]);
    await works.end(3);
    await works.end(5);
    assert.deepEqual(await Promise.all([...all, last]), [1, 2, 3, 5]);
  });

  it("begins the next where one takes long", async () => {
    const pace = new Pace({ most: 1, longest: 1 });
    const works = new Works();
    const first = works.begin(pace, 1);
    const second = works.begin(pace, 2);
    while (works.begun.length < 2) await turn();
    await works.end(2);
    assert.equal(await second, 2);
    await works.end(1);
    assert.equal(await first, 1);
    // Its turn was given up once.
    const third = works.begin(pace, 3);
    await works.end(3);
    assert.equal(await third, 3);
  });

  it("leaves out what is not wanted any more", async () => {
    const pace = new Pace({ most: 1, longest: 60_000 });
    const works = new Works();
    const first = works.begin(pace, 1);
    const stop = new AbortController();
    const second = works.begin(pace, 2, stop.signal);
    const third = works.begin(pace, 3);
    stop.abort(new Error("stopped"));
    await assert.rejects(second, /stopped/);
    await works.end(1);
    await works.end(3);
    assert.deepEqual([await first, await third], [1, 3]);
    assert.deepEqual(works.begun, [1, 3]);
  });
});
