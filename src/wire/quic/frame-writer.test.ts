import assert from "node:assert/strict";
import { Writable } from "node:stream";
import { describe, it } from "node:test";
import { setImmediate as nextTurn } from "node:timers/promises";

import { beforeSending } from "../../base/event-loop.ts";
import { COMMAND, HEADER } from "./control-frame.ts";
import { FrameWriter } from "./frame-writer.ts";

/** Takes bytes, of which none ever leave. */
class StuckOutput extends Writable {
  readonly taken: Buffer[] = [];

  override _write(chunk: Buffer): void {
    this.taken.push(chunk);
  }
}

describe("FrameWriter", () => {
  it("sends what is sent in one turn in one write", async () => {
    const output = new StuckOutput();
    const writer = new FrameWriter(output);
    writer.send(COMMAND.write, 0, 1, Buffer.from("one"));
    writer.send(COMMAND.write, 0, 2, Buffer.from("two"));
    await nextTurn();
    assert.equal(output.taken.length, 1);
    assert.equal(output.taken[0]?.length, 2 * HEADER + 6);
  });

  it("has done before it sends what is due before, once for all that it sends", async () => {
    const output = new StuckOutput();
    const writer = new FrameWriter(output);
    const seen: number[] = [];
    writer.send(COMMAND.write, 0, 1, Buffer.from("one"));
    // Recorded after the first answer, and nevertheless before it has left.
    beforeSending(() => seen.push(output.taken.length));
    writer.send(COMMAND.write, 0, 2, Buffer.from("two"));
    writer.flush();
    assert.deepEqual(seen, [0]);
    assert.equal(output.taken.length, 1);
    await nextTurn();
    assert.deepEqual(seen, [0]);
  });
});
