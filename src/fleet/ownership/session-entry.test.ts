import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { newRecord, readEntry, type SessionEntry } from "./session-entry.ts";

const ENTRY: SessionEntry = {
  record: newRecord({
    id: "s1",
    cwd: "/w",
    agent: "a",

    notes: {},
  }),
  epoch: 1,
  born: 1,
  node: "n",
  write: "w:1",
};

describe("readEntry()", () => {
  it("reads an entry as it was written", () => {
    const text = JSON.stringify(ENTRY);
    assert.deepEqual(readEntry("s1", text), JSON.parse(text));
  });

  it("reads nothing else, so that a wrong entry costs its own session only", () => {
    const { record } = ENTRY;
    const wrong: unknown[] = [
      null,
      7,
      [],
      {},
      { ...ENTRY, record: null },
      { ...ENTRY, record: { ...record, id: "s2" } },
      { ...ENTRY, record: { ...record, cwd: 7 } },
      { ...ENTRY, record: { ...record, updated: "yesterday" } },
      { ...ENTRY, record: { ...record, notes: null } },
      { ...ENTRY, epoch: "1" },
      { ...ENTRY, holder: { toString: 1 } },
    ];
    for (const entry of wrong) assert.equal(readEntry("s1", JSON.stringify(entry)), undefined);
    assert.equal(readEntry("s1", "{"), undefined);
    const odd = { ...ENTRY, record: { ...record, id: "../a" } };
    assert.equal(readEntry("../a", JSON.stringify(odd)), undefined);
  });
});
