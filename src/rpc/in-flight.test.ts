import assert from "node:assert/strict";
import { test } from "node:test";

import { AT_ONCE, retainedBy } from "../../test/support/retained-heap.ts";
import type { Call } from "./call.ts";
import { type Held, InFlight } from "./in-flight.ts";
import { type Pending, PendingRequests, type RequestLink } from "./pending-requests.ts";

class Message implements Held<undefined> {
  readonly id: number;
  readonly words: readonly number[];
  isSettled = false;

  constructor(words: readonly number[], id: number) {
    this.id = id;
    this.words = words;
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
  const { bytes, limit } = retainedBy(
    (words, id) => {
      const message = new Message(words, id);
      inFlight.add(message);
      return message;
    },
    (message) => inFlight.settle(message),
  );
  assert.ok(bytes < limit, `${bytes} bytes are left`);
  assert.equal(inFlight.size, AT_ONCE);
});

test("neither are our own requests that got their answers", () => {
  const pending = new PendingRequests({} as RequestLink);
  const { bytes, limit } = retainedBy(
    (words, id) => pending.register(new Message(words, id) as unknown as Pending) ?? 0,
    (id) => pending.forget(id),
  );
  assert.ok(bytes < limit, `${bytes} bytes are left`);
  assert.equal(pending.size, AT_ONCE);
});
