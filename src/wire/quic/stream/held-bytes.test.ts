import assert from "node:assert/strict";
import { test } from "node:test";
import { HeldBytes, type StreamReceiver } from "./multiplexed-stream.ts";

type Holder = Pick<StreamReceiver, "giveUp">;

/** Leaves when it is given up. */
function holder(pool: HeldBytes, name: string, lost: string[]): Holder & { bytes: number } {
  const self = {
    bytes: 0,
    giveUp(): void {
      lost.push(name);
      pool.leave(self, self.bytes);
    },
  };
  return self;
}

test("the newest stream is aborted when too much is held", () => {
  const pool = new HeldBytes(100);
  const lost: string[] = [];
  const [first, second] = [holder(pool, "first", lost), holder(pool, "second", lost)];
  const add = (each: typeof first, bytes: number): void => {
    each.bytes += bytes;
    pool.add(each, bytes);
  };
  add(first, 60);
  add(second, 40);
  assert.deepEqual(lost, []);
  add(first, 30);
  assert.deepEqual(lost, ["second"]);
  assert.equal(pool.held, 90);
  add(first, 30);
  assert.deepEqual(lost, ["second", "first"]);
  assert.equal(pool.held, 0);
});

test("reading makes room", () => {
  const pool = new HeldBytes(100);
  const lost: string[] = [];
  const only = holder(pool, "only", lost);
  for (let round = 0; round < 10; round += 1) {
    pool.add(only, 90);
    pool.remove(90);
  }
  assert.deepEqual(lost, []);
  assert.equal(pool.held, 0);
});
