import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { LiveRows } from "./live-rows.ts";

const all = (): boolean => true;

describe("the last changes of rows", () => {
  it("keeps only the last change of each row, in the order of the changes", () => {
    const rows = new LiveRows();
    rows.set("session", "a", { at: 1 }, all);
    rows.set("session", "b", { at: 2 }, all);
    rows.set("session", "a", { at: 3 }, all);
    rows.set("run", "a", { at: 4 }, all);
    const told = rows.after(0)?.map(({ n, event, row }) => [n, event, row]);
    assert.deepEqual(told, [
      [2, "session", { at: 2 }],
      [3, "session", { at: 3 }],
      [4, "run", { at: 4 }],
    ]);
    assert.deepEqual(rows.after(4), []);
  });

  it("says so when changes after a number are no longer known", () => {
    const rows = new LiveRows(2);
    for (const id of ["a", "b", "c"]) rows.set("session", id, {}, all);
    assert.equal(rows.after(0), undefined);
    assert.deepEqual(
      rows.after(1)?.map(({ id }) => id),
      ["b", "c"],
    );
    assert.equal(rows.after(99), undefined, "a number of the future is of another process");
  });

  it("lets nobody go on from a number before a pause", () => {
    const rows = new LiveRows();
    rows.set("session", "a", {}, all);
    rows.pause();
    assert.equal(rows.after(1), undefined);
    assert.deepEqual(rows.after(rows.last), []);
  });

  it("tells its listeners until they leave", () => {
    const rows = new LiveRows();
    let told = 0;
    const listener = rows.listen(() => told++);
    rows.set("session", "a", {}, all);
    listener[Symbol.dispose]();
    rows.set("session", "a", {}, all);
    assert.equal(told, 1);
  });
});
