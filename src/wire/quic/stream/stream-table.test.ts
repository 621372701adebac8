import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { AT_ONCE, retainedBy } from "../../../../test/support/retained-heap.ts";
import { HeldBytes } from "./held-bytes.ts";
import { MultiplexedStream, type StreamOwner } from "./multiplexed-stream.ts";
import { StreamTable } from "./stream-table.ts";

const CARRIER = { send: () => {}, sendNumber: () => {} };

function owner(forget: StreamOwner["forget"] = () => {}): StreamOwner {
  const held = new HeldBytes(Infinity);
  return { address: "here", held, lead: undefined, writeWindow: 1_000, forget };
}

function stream(id: number): MultiplexedStream {
  return new MultiplexedStream(CARRIER, owner(), id, true);
}

describe("StreamTable", () => {
  it("finds streams by their ids, as a map does, whatever ids they have", () => {
    const table = new StreamTable();
    const map = new Map<number, MultiplexedStream>();
    // In a row, all with the same place, the largest, and such as wrap around the end.
    const ids = [0, 1, 2, 3, 16, 32, 48, 1024, 2048, 0xffff_ffff, 0xffff_fff0, 15, 31, 47, 14, 30];
    let seed = 1;
    for (let round = 0; round < 20_000; round++) {
      seed = (seed * 48_271) % 0x7fff_ffff;
      const id = (ids[seed % ids.length] ?? 0) + (seed % 3 === 0 ? (seed >> 8) % 64 : 0);
      if (seed % 5 < 2) {
        table.delete(id);
        map.delete(id);
      } else {
        const added = stream(id);
        table.add(added);
        map.set(id, added);
      }
      assert.equal(table.get(id), map.get(id));
      assert.equal(table.size, map.size);
    }
    for (const [id, known] of map) assert.equal(table.get(id), known);
    assert.deepEqual(new Set(table.all()), new Set(map.values()));
    for (const id of map.keys()) table.delete(id);
    assert.deepEqual([table.size, table.all()], [0, []]);
  });

  it("is as good as new after many streams at once", () => {
    const table = new StreamTable();
    for (let id = 0; id < 5_000; id++) table.add(stream(id));
    for (let id = 0; id < 5_000; id++) table.delete(id);
    table.add(stream(7));
    assert.ok(table.has(7));
    assert.deepEqual([table.size, table.all().length], [1, 1]);
  });

  it("refers to no stream that has ended after a collection of the young heap", () => {
    const table = new StreamTable();
    const connection = owner((ended) => table.delete(ended.id));
    const { bytes, limit } = retainedBy(
      (words, id) => {
        const added = new MultiplexedStream(CARRIER, connection, id, true);
        table.add(Object.assign(added, { words }));
        // Held until it is read.
        added.receive(Buffer.from("request"), true);
        return added;
      },
      (ended) => {
        ended.whole();
        void ended.end();
      },
    );
    assert.ok(bytes < limit, `${bytes} bytes are left`);
    assert.deepEqual([table.size, connection.held.held], [AT_ONCE, AT_ONCE * "request".length]);
  });
});
