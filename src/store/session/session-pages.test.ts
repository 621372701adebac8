import assert from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import { describe, it } from "node:test";

import {
  copyPages,
  lastOf,
  lineOf,
  PAGES,
  READ,
  readPages,
  readPagesBefore,
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

  it("cannot be altered, nor written twice under one number", () => {
    using database = filled([1, 2]);
    assert.throws(() => database.exec("UPDATE session_page SET lines = ''"), /never altered/);
    const again = { session: 1, first: 1, last: 1, lines: lineOf(1, "client", "{}") };
    assert.throws(() => writePages(database, [again]), /UNIQUE/);
  });
});
