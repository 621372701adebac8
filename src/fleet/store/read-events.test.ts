import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { lineOf } from "../../store/session/session-pages.ts";
import type { StoredMessage } from "../ownership/journal.ts";
import { readEvents } from "./read-events.ts";

/** A session of 1,000 events, whose messages are among those of many others. */
function streamsFrom(begin: number) {
  const messages = Array.from({ length: 1_000 }, (_, at): StoredMessage => {
    const seq = at + 1;
    const body = Buffer.from(lineOf(seq, "agent", `{"seq":${seq}}`));
    const numbers = { sequence: begin + 7 * at, epoch: 1, first: seq, last: seq };
    return { ...numbers, id: `${seq}`, node: "n", body, more: false };
  });
  const counts = { asked: 0, read: 0 };
  const journal = {
    async next(_: string, from: number) {
      assert.ok(++counts.asked < 100, "It looks for the message without end");
      return messages.find(({ sequence }) => sequence >= from);
    },
    async *read(_: string, from: number, to: number) {
      for (const message of messages) {
        if (message.sequence < from || message.sequence > to) continue;
        counts.read++;
        yield message;
      }
    },
  };
  const find = async () => ({ born: 1, record: { id: "s" } });
  const streams = {
    journal,
    find,
    last: async () => messages.at(-1),
    connection: { pause: () => {} },
  };
  return { streams: streams as unknown as Parameters<typeof readEvents>[0], counts };
}

describe("readEvents()", () => {
  for (const begin of [1, 2 ** 31, 2 ** 33]) {
    it(`reads the last events without most of those before them, from message ${begin} on`, async () => {
      const { streams, counts } = streamsFrom(begin);
      const batches = await Array.fromAsync(readEvents(streams, "s", 900, 990));
      const read = batches.flat().map(({ seq }) => seq);
      assert.deepEqual([read[0], read.at(-1), read.length], [901, 990, 90]);
      assert.ok(counts.read < 300, `${counts.read} messages were read`);
    });
  }
});
