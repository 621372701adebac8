import assert from "node:assert/strict";
import { Writable } from "node:stream";
import { describe, it } from "node:test";
import { setImmediate as turn } from "node:timers/promises";

import { ByteBudget, FREE_BYTES, ByteReservation } from "../../base/limit/byte-budget.ts";
import { resolveChannelLimits, ROOM, SlowReaderError } from "../channel.ts";
import { newOutbox } from "./outbox.ts";

/** A reader that takes what it was sent only when it is told to. */
class SlowReader extends Writable {
  readonly taken: string[] = [];
  readonly #waiting: (() => void)[] = [];

  constructor() {
    super({ highWaterMark: 10 });
  }

  override _write(chunk: Buffer, _: string, done: () => void): void {
    this.taken.push(String(chunk));
    this.#waiting.push(done);
  }

  takeAll(): void {
    for (const done of this.#waiting.splice(0)) done();
  }
}

function open(limits = {}, holding?: ByteReservation) {
  const reader = new SlowReader();
  const failures: Error[] = [];
  const resolved = resolveChannelLimits({ closeGrace: 600_000, ...limits });
  const fail = (error: Error) => void failures.push(error);
  return { reader, failures, outbox: newOutbox(reader, resolved, fail, undefined, holding) };
}

describe("Outbox", { timeout: 600_000 }, () => {
  it("writes what is sent in one turn at once, and makes a fast sender wait", async () => {
    const { reader, outbox } = open({ highWater: 20 });
    for (const text of ["a", "b", "c"]) assert.equal(outbox.send(text), ROOM);
    await turn();
    assert.deepEqual(reader.taken, ["abc"]);
    const room = outbox.send("x".repeat(30));
    assert.notEqual(room, ROOM);
    assert.equal(outbox.send("y"), room);
    const waits = { isOver: false };
    void room.then(() => (waits.isOver = true));
    await turn();
    assert.equal(waits.isOver, false);
    while (!waits.isOver) {
      reader.takeAll();
      await turn();
    }
    assert.equal(reader.taken.join(""), `abc${"x".repeat(30)}y`);
  });

  it("closes if a reader leaves too much unread", async () => {
    const { failures, outbox } = open({ highWater: 10, maxUnsent: 100 });
    void outbox.send("x".repeat(101));
    await turn();
    assert.ok(failures[0] instanceof SlowReaderError);
    assert.match(failures[0].message, /101 bytes are unsent, the limit is 100/);
  });

  it("closes if the process has no room left in its byte budget for unread bytes", async () => {
    const { failures, outbox } = open({}, new ByteReservation(new ByteBudget(50)));
    void outbox.send("x".repeat(FREE_BYTES + 51));
    await turn();
    assert.ok(failures[0] instanceof SlowReaderError);
  });

  it("releases waiting senders when it is stopped, and sends nothing afterwards", async () => {
    const { reader, outbox } = open({ highWater: 20 });
    const room = outbox.send("x".repeat(30));
    outbox.stop();
    await room;
    assert.equal(outbox.send("late"), ROOM);
    await turn();
    assert.deepEqual(reader.taken, ["x".repeat(30)]);
  });

  it("closes when everything was read, or when the grace has ended", async () => {
    const patient = open();
    void patient.outbox.send("last");
    const closed = patient.outbox.close();
    assert.equal(patient.outbox.close(), closed);
    patient.reader.takeAll();
    await closed;
    assert.equal(patient.reader.writableFinished, true);
    const slow = open({ closeGrace: 1 });
    void slow.outbox.send("unread");
    await slow.outbox.close();
    assert.equal(slow.reader.writableFinished, false);
  });
});
