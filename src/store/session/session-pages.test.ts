import type { StoredEvent } from "../../session/store.ts";
import assert from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import { describe, it } from "node:test";

import {
  copyPages,
  cutPages,
  eventsIn,
  lastOf,
  lineOf,
  PAGES,
  pagesAfter,
  READ,
  readPages,
  readPagesBefore,
  textLineOf,
  writePages,
} from "./session-pages.ts";

/** Sessions 1 and 2 exist; session 1 has these events, a page for each list of numbers. */
function filled(...pages: number[][]) {
  const database = new DatabaseSync(":memory:");
  database.exec(`CREATE TABLE session (id INTEGER PRIMARY KEY); INSERT INTO session VALUES (1), (2);
    ${PAGES}`);
  for (const numbers of pages) {
    const [first = 0] = numbers;
    const lines = numbers.map((seq) => lineOf(seq, "agent", JSON.stringify({ seq }))).join("");
    writePages(database, [{ session: 1, first, last: numbers.at(-1) ?? 0, lines }]);
  }
  return Object.assign(database, { [Symbol.dispose]: () => database.close() });
}

const numbersOf = (database: DatabaseSync, session: number, after = 0, limit = Infinity) =>
  readPages(database, session, after, limit).map(({ seq }) => seq);

describe("session pages", () => {
  it("return events in order, also from the middle of a page", () => {
    using database = filled([1, 2, 3], [4], [5, 6]);
    assert.deepEqual(numbersOf(database, 1), [1, 2, 3, 4, 5, 6]);
    assert.deepEqual(numbersOf(database, 1, 2), [3, 4, 5, 6]);
    assert.deepEqual(numbersOf(database, 1, 6), []);
    const [event] = readPages(database, 1, 5, 1);
    assert.deepEqual([event?.direction, event?.message], ["agent", { seq: 6 }]);
  });

  it("are read up to a limit, or until there is enough text", () => {
    using database = filled([1, 2, 3], [4], [5, 6]);
    assert.deepEqual(numbersOf(database, 1, 0, 4), [1, 2, 3, 4]);
    assert.deepEqual(numbersOf(database, 1, 3, 2), [4, 5]);
    const lines = lineOf(7, "agent", JSON.stringify("x".repeat(READ)));
    for (const seq of [7, 8]) {
      writePages(database, [
        { session: 1, first: seq, last: seq, lines: lines.replace("7", `${seq}`) },
      ]);
    }
    assert.deepEqual(numbersOf(database, 1, 4), [5, 6, 7], "one page at least, or none would end");
    assert.deepEqual(numbersOf(database, 1, 7), [8]);
  });

  it("are read backwards, too", () => {
    using database = filled([1, 2, 3], [4], [5, 6]);
    const before = (seq: number, limit: number) =>
      readPagesBefore(database, 1, seq, limit).map(({ seq: found }) => found);
    assert.deepEqual(before(6, 3), [3, 4, 5]);
    assert.deepEqual(before(3, 9), [1, 2]);
    assert.deepEqual(before(1, 9), []);
  });

  it("are found without a look at those before", () => {
    using database = filled([1, 2, 3], [4], [5, 6]);
    const numbers = [0, 1, 2, 3, 4, 5, 6, 7].map((after) => numbersOf(database, 1, after)[0]);
    assert.deepEqual(numbers, [1, 2, 3, 4, 5, 6, undefined, undefined]);
    // A row before the one with the next event would be shown again if it were read.
    database.exec(`DROP TRIGGER session_page_is_not_altered;
      UPDATE session_page SET last = 9, lines = '[9,0,"agent",{}]' WHERE first = 1`);
    assert.deepEqual(numbersOf(database, 1, 4), [5, 6]);
  });

  it("know the last event of a session, and that an empty one has none", () => {
    using database = filled([1, 2], [3]);
    assert.deepEqual([lastOf(database, 1), lastOf(database, 2)], [3, 0]);
  });

  for (const [upTo, copied] of [
    [Infinity, [1, 2, 3, 4, 5, 6]],
    [6, [1, 2, 3, 4, 5, 6]],
    [5, [1, 2, 3, 4, 5]],
    [3, [1, 2, 3]],
    [1, [1]],
    [0, []],
  ] as const) {
    it(`are copied up to the event ${upTo}, also within a page`, () => {
      using database = filled([1, 2, 3], [4], [5, 6]);
      copyPages(database, 1, 2, upTo);
      assert.deepEqual(numbersOf(database, 2), copied);
      assert.equal(lastOf(database, 2), copied.length);
      assert.deepEqual(numbersOf(database, 1), [1, 2, 3, 4, 5, 6], "the original stays");
    });
  }

  describe("with lines that have only a text", () => {
    const update = { sessionUpdate: "agent_message_chunk", messageId: "m", _meta: { a: 1 } };
    const said = (text: string) => ({
      kind: "update",
      update: { ...update, content: { type: "text", text } },
    });
    const texts = ["a", 'b"]\n[1,2,"client",{}]', "agent", "", "\ud83d"];
    const whole = [...texts.map(said), { kind: "end" }, said("again")];

    /** Events 1 to 7 of session 1, of which 2 to 5 have only a text; then a page with one more. */
    function spoken() {
      const database = filled();
      const [first, end, again] = [whole[0], whole[5], whole[6]].map((each) =>
        JSON.stringify(each),
      );
      const lines = [
        lineOf(1, "agent", String(first)),
        ...texts.slice(1).map((text) => textLineOf(JSON.stringify(text), 5)),
        lineOf(6, "client", String(end)),
        lineOf(7, "agent", String(again)),
      ].join("");
      writePages(database, [{ session: 1, first: 1, last: 7, lines }]);
      writePages(database, [
        { session: 1, first: 8, last: 8, lines: lineOf(8, "agent", String(first)) },
      ]);
      return database;
    }

    const messages = (events: readonly StoredEvent[]) => events.map(({ message }) => message);

    it("are read as whole events, from anywhere", () => {
      using database = spoken();
      const all = readPages(database, 1, 0);
      assert.deepEqual(messages(all), [...whole, said("a")]);
      const [first, second, third] = all.map(({ at }) => at);
      assert.deepEqual([second, third], [Number(first) + 5, Number(first) + 10]);
      assert.deepEqual(
        all.map(({ seq, direction }) => `${seq} ${direction}`),
        "1 agent,2 agent,3 agent,4 agent,5 agent,6 client,7 agent,8 agent".split(","),
      );
      for (let after = 0; after <= 8; after++) {
        assert.deepEqual(readPages(database, 1, after), all.slice(after));
        assert.deepEqual(readPagesBefore(database, 1, after + 1, 2), all.slice(0, after).slice(-2));
      }
    });

    it("are copied, cut and passed on as whole events", () => {
      for (let last = 1; last <= 8; last++) {
        using database = spoken();
        const all = readPages(database, 1, 0);
        copyPages(database, 1, 2, last);
        assert.deepEqual(readPages(database, 2, 0), all.slice(0, last));
        const later = pagesAfter(database, 1, last, Infinity);
        assert.deepEqual(
          later.flatMap(({ lines }) => eventsIn(lines)),
          all.slice(last),
        );
        cutPages(database, 1, last);
        assert.deepEqual(readPages(database, 1, 0), all.slice(0, last));
      }
    });
  });

  it("cannot be altered, nor written twice under one number", () => {
    using database = filled([1, 2]);
    assert.throws(() => database.exec("UPDATE session_page SET lines = ''"), /never altered/);
    const again = { session: 1, first: 1, last: 1, lines: lineOf(1, "client", "{}") };
    assert.throws(() => writePages(database, [again]), /UNIQUE/);
  });
});
