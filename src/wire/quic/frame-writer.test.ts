import assert from "node:assert/strict";
import { Writable } from "node:stream";
import { describe, it } from "node:test";
import { setImmediate as nextTurn } from "node:timers/promises";

import { beforeSending } from "../../base/event-loop.ts";
import { COMMAND, HEADER } from "./control-frame.ts";
import { FrameWriter } from "./frame-writer.ts";

/** Takes bytes, and says that they have left when it is told to. */
class SlowOutput extends Writable {
  readonly taken: Buffer[] = [];
  leave: () => void = () => {};

  override _write(chunk: Buffer, _: string, done: () => void): void {
    this.taken.push(chunk);
    this.leave = done;
  }
}

describe("FrameWriter", () => {
  it("sends what is sent in one turn in one write", async () => {
    const output = new SlowOutput();
    const writer = new FrameWriter(output);
    writer.send(COMMAND.write, 0, 1, Buffer.from("one"));
    writer.send(COMMAND.write, 0, 2, Buffer.from("two"));
    await nextTurn();
    assert.equal(output.taken.length, 1);
    assert.equal(output.taken[0]?.length, 2 * HEADER + 6);
  });

  it("sends at once what follows one message in a turn, and not what follows several", async () => {
    let written = 0;
    const write = (chunk: Buffer, _: string, done: () => void): void => {
      written += chunk.length;
      done();
    };
    const writer = new FrameWriter(new Writable({ write }));
    const isSentAtOnce = async (frames: number): Promise<boolean> => {
      for (let id = 1; id <= frames; id++) writer.send(COMMAND.write, 0, id);
      await Promise.resolve();
      const atOnce = written;
      await nextTurn();
      assert.equal(written, frames * HEADER);
      written = 0;
      return atOnce > 0;
    };
    await isSentAtOnce(2);
    assert.equal(await isSentAtOnce(1), false);
    assert.equal(await isSentAtOnce(1), false);
    assert.equal(await isSentAtOnce(1), true);
    assert.equal(await isSentAtOnce(1), false);
    assert.equal(await isSentAtOnce(2), true);
    assert.equal(await isSentAtOnce(1), false);
  });

  it("has done before it sends what is due before, once for all that it sends", async () => {
    const output = new SlowOutput();
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

  it("uses its memory again when what was in it has left, and not before", async () => {
    const output = new SlowOutput();
    const writer = new FrameWriter(output);
    const send = async (text: string): Promise<void> => {
      writer.send(COMMAND.write, 0, 1, Buffer.from(text));
      await nextTurn();
    };
    await send("first");
    await send("second");
    assert.equal(output.taken[0]?.toString("latin1", HEADER), "first");
    output.leave();
    await nextTurn();
    assert.equal(output.taken[1]?.toString("latin1", HEADER), "second");
    output.leave();
    await nextTurn();
    await send("third");
    assert.equal(output.taken[2]?.byteOffset, output.taken[0].byteOffset);
    assert.equal(output.taken[2]?.buffer, output.taken[0].buffer);
  });
});
