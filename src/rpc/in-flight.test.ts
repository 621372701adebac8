import assert from "node:assert/strict";
import { test } from "node:test";
import { getHeapStatistics, setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

import type { Call } from "./call.ts";
import { type Held, InFlight } from "./in-flight.ts";
import { type Pending, PendingRequests, type RequestLink } from "./pending-requests.ts";

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as (options?: { readonly type: "minor" }) => void;

const CALLS = 40_000;
const AT_ONCE = 64;
/** Of each call, as if it held a message. */
const WORDS = 100;

class Message implements Held<undefined> {
  readonly id: number;
  readonly words: number[];
  isSettled = false;

  constructor(id: number) {
    this.id = id;
    this.words = Array.from({ length: WORDS }, () => id);
  }

  get call(): Call<undefined> {
    throw new Error("Nobody asks for it");
  }

  settle(): void {
    this.isSettled = true;
  }
}

test("requests that were answered are no more after a collection of the young heap", () => {
  const inFlight = new InFlight<undefined>();
  const most = retainedBy(
    (id) => {
      const message = new Message(id);
      inFlight.add(message);
      return message;
    },
    (message) => inFlight.settle(message),
  );
  assert.ok(most < (CALLS * WORDS * 8) / 4, `${most} bytes are left`);
  assert.equal(inFlight.size, AT_ONCE);
});

test("neither are our own requests that got their answers", () => {
  const pending = new PendingRequests({} as RequestLink);
  const most = retainedBy(
    (id) => pending.register(new Message(id) as unknown as Pending) ?? 0,
    (id) => pending.forget(id),
  );
  assert.ok(most < (CALLS * WORDS * 8) / 4, `${most} bytes are left`);
  assert.equal(pending.size, AT_ONCE);
});

/** Bytes of the heap that many calls leave behind, some of them at a time. */
function retainedBy<T>(begin: (id: number) => T, end: (call: T) => void): number {
  const open = Array.from({ length: AT_ONCE }, (_, id) => begin(id));
  // The first are in the old heap now, as in a program that has run for a while.
  collect();
  collect();
  const before = getHeapStatistics().used_heap_size;
  for (let id = AT_ONCE; id < CALLS; id++) {
    open.push(begin(id));
    end(open.shift() as T);
    if (id % 1_000 === 0) collect({ type: "minor" });
  }
  collect({ type: "minor" });
  collect({ type: "minor" });
  return getHeapStatistics().used_heap_size - before;
}
