import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { readPage } from "./list-sessions.ts";
import type { SessionRecord, SessionStore } from "./store.ts";

const ANY = { cwd: undefined, cursor: undefined, owner: undefined };

/** So many sessions, and what was asked for. */
function storeOf(count: number) {
  const asked: unknown[] = [];
  const record = (at: number) => ({ id: crypto.randomUUID(), updated: 1000 - at });
  const all = Array.from({ length: count }, (_, at) => record(at) as SessionRecord);
  const list: SessionStore["list"] = async (options) => {
    asked.push(options);
    return all.slice(0, options?.limit);
  };
  return { list, all, asked };
}

describe("readPage()", () => {
  it("names the last session of a page where more follow", async () => {
    const store = storeOf(101);
    const { sessions, nextCursor } = await readPage(store, ANY);
    assert.equal(sessions.length, 100);
    assert.equal(nextCursor, `901.${store.all[99]?.id}`);
    await readPage(store, { cwd: "/w", cursor: nextCursor, owner: "" });
    const after = { updated: 901, id: store.all[99]?.id };
    assert.deepEqual(store.asked.at(-1), { limit: 101, after, cwd: "/w", owner: "" });
  });

  it("has no cursor on the last page", async () => {
    assert.equal((await readPage(storeOf(100), ANY)).nextCursor, undefined);
    assert.deepEqual(await readPage(storeOf(0), ANY), { sessions: [] });
  });

  it("refuses what is not a cursor of the list", async () => {
    for (const cursor of ["", "5", "x.y", `-1.${crypto.randomUUID()}`]) {
      await assert.rejects(readPage(storeOf(1), { ...ANY, cursor }), { code: "usage" });
    }
  });
});
