import assert from "node:assert/strict";
import { test } from "node:test";

import { Drafts } from "./drafts.ts";

/** As much of a browser's storage as drafts need. */
function storage(
  kept: Map<string, string>,
  most = Infinity,
): ConstructorParameters<typeof Drafts>[0] {
  return {
    get length() {
      return kept.size;
    },
    key: (at) => [...kept.keys()][at] ?? null,
    getItem: (key) => kept.get(key) ?? null,
    removeItem: (key) => void kept.delete(key),
    setItem: (key, text) => {
      if (kept.size >= most) throw new Error("QuotaExceededError");
      kept.set(key, text);
    },
  };
}

test("Drafts are there in the next page, until they are emptied", () => {
  const kept = new Map([["trunkline.read", "{}"]]);
  new Drafts(storage(kept)).keep("comment/s/new/3/a/b.txt", "half");
  const drafts = new Drafts(storage(kept));
  assert.equal(drafts.get("comment/s/new/3/a/b.txt"), "half");
  assert.deepEqual(drafts.keysAfter("comment/s/"), ["new/3/a/b.txt"]);
  assert.deepEqual(drafts.keysAfter("comment/other/"), []);
  drafts.keep("comment/s/new/3/a/b.txt", "");
  assert.deepEqual([...kept.keys()], ["trunkline.read"]);
});

test("Drafts cost nothing but themselves where the storage is full or missing", () => {
  const full = new Drafts(storage(new Map(), 0));
  full.keep("prompt/s", "text");
  assert.equal(full.get("prompt/s"), "");
  assert.deepEqual(new Drafts(undefined).keysAfter(""), []);
});
