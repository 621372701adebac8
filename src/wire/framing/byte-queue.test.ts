import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { SeededRandom } from "../../../test/support/seeded-random.ts";
import { ByteQueue, faultOf } from "./byte-queue.ts";

describe("ByteQueue", () => {
  it("returns what was appended, up to the limit, in any number of chunks", () => {
    const random = new SeededRandom(0xb0b);
    for (let round = 0; round < 200; round++) {
      const limit = random.below(10_000);
      const queue = new ByteQueue(limit);
      // A queue is used for one frame after another.
      for (let frame = 0; frame < 3; frame++) {
        const bytes = Buffer.alloc(random.below(12_000), `${round} ${frame} `);
        for (const chunk of random.cut(bytes, 1 + random.below(6000))) queue.append(chunk);
        assert.equal(queue.size, bytes.length);
        const taken = queue.take();
        if (bytes.length > limit) assert.equal(taken, undefined);
        else assert.deepEqual(taken, bytes);
        assert.deepEqual(queue.head, bytes.subarray(0, 4096));
        assert.deepEqual(queue.tail, bytes.subarray(-256));
        queue.clear();
        assert.equal(queue.size, 0);
      }
    }
  });

  it("copies its input, so that the caller may reuse its buffer", () => {
    const queue = new ByteQueue(100);
    const buffer = Buffer.from("first");
    queue.append(buffer);
    buffer.fill("x");
    assert.equal(String(queue.take()), "first");
  });

  it("shows nothing of an earlier frame in a later one's fault", () => {
    const queue = new ByteQueue(10);
    queue.append(Buffer.from("secret"));
    queue.clear();
    for (const part of ["ab", "", "x".repeat(20)]) queue.append(Buffer.from(part));
    const text = `ab${"x".repeat(20)}`;
    const fault = { kind: "oversize", size: 22, limit: 10, head: text, tail: text } as const;
    assert.deepEqual(faultOf("oversize", queue, 10), fault);
  });
});
