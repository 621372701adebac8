import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { SeededRandom } from "../../../test/support/seeded-random.ts";
import { eventPages, type EventPiece, piecesOf, takeTogether } from "./event-pages.ts";
import type { StoredMessage } from "./journal.ts";

describe("piecesOf()", () => {
  it("leaves events alone that fit into a message", () => {
    assert.deepEqual(shown(piecesOf(3, 4, "aa\nbb\n", 6)), ["3-4 aa\nbb\n"]);
  });

  it("splits between events where it can, and within one that is too large", () => {
    const pieces = piecesOf(1, 4, "aa\nbb\ncccccccc\nd\n", 6);
    assert.deepEqual(shown(pieces), ["1-2 aa\nbb\n", "3-2 cccccc…", "3-3 cc\n", "4-4 d\n"]);
  });
});

describe("takeTogether()", () => {
  it("joins what fits, and begins no part of a large event behind other events", () => {
    const pieces = [...piecesOf(1, 1, "a\n", 6), ...piecesOf(2, 2, "b\n", 6)];
    pieces.push(...piecesOf(3, 3, "cccccccc\n", 6), ...piecesOf(4, 4, "d\n", 6));
    const taken: EventPiece[] = [];
    for (;;) {
      const next = takeTogether(pieces, 6);
      if (next === undefined) break;
      taken.push(next);
    }
    assert.deepEqual(shown(taken), ["1-2 a\nb\n", "3-2 cccccc…", "3-4 cc\nd\n"]);
  });
});

describe("eventPages()", () => {
  it("has the events again, however they were split", async () => {
    const random = new SeededRandom(7);
    for (let round = 0; round < 200; round++) {
      const most = 8 + random.below(30);
      const lines = Array.from({ length: 12 }, (_, at) => `${at}${"é".repeat(random.below(30))}\n`);
      const pieces: EventPiece[] = [];
      for (let at = 0; at < lines.length;) {
        const count = 1 + random.below(Math.min(4, lines.length - at));
        const text = lines.slice(at, at + count).join("");
        pieces.push(...piecesOf(at + 1, at + count, text, most));
        at += count;
      }
      const messages: StoredMessage[] = [];
      for (;;) {
        const piece = takeTogether(pieces, most);
        if (piece === undefined) break;
        assert.ok(piece.body.length <= most);
        messages.push(messageOf(piece, messages.length + 1));
      }
      const pages = await Array.fromAsync(eventPages(from(messages), 1));
      assert.equal(pages.map((page) => page.lines).join(""), lines.join(""));
      let last = 0;
      for (const page of pages) {
        assert.equal(page.first, last + 1);
        assert.equal(page.lines.split("\n").length - 1, page.last - last);
        ({ last } = page);
      }
      assert.equal(last, lines.length);
    }
  });

  it("leaves out an event whose holder was replaced in its middle, and what was deleted before", async () => {
    const [part] = piecesOf(1, 1, "cccccccc\n", 6);
    const [whole] = piecesOf(1, 1, "new\n", 6);
    assert.ok(part !== undefined && whole !== undefined);
    const marker = { first: 1, last: 0, body: new Uint8Array(), more: false };
    const messages = [
      messageOf(whole, 1, 1),
      messageOf(part, 2, 2),
      messageOf(marker, 3, 3),
      messageOf(whole, 4, 3),
    ];
    const pages = await Array.fromAsync(eventPages(from(messages), 2));
    assert.deepEqual(
      pages.map(({ epoch, lines }) => [epoch, lines]),
      [
        [3, ""],
        [3, "new\n"],
      ],
    );
  });
});

function shown(pieces: readonly EventPiece[]): string[] {
  return pieces.map(({ first, last, body, more }) => {
    return `${first}-${last} ${Buffer.from(body).toString()}${more ? "…" : ""}`;
  });
}

function messageOf(piece: EventPiece, sequence: number, epoch = 1): StoredMessage {
  return { ...piece, id: String(sequence), epoch, node: "n", sequence };
}

async function* from<T>(values: readonly T[]): AsyncGenerator<T> {
  yield* values;
}
