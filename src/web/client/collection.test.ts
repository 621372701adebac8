import assert from "node:assert/strict";
import { test } from "node:test";

import type { Page } from "../../server/dashboard/api.ts";
import { Collection } from "./collection.ts";
import { RequestError } from "./request.ts";

interface Row {
  readonly id: string;
  readonly n: number;
}

function collection(fetch: (cursor: string | undefined) => Promise<Page<Row>>): Collection<Row> {
  return new Collection({ fetch, idOf: ({ id }) => id, compare: (a, b) => a.n - b.n });
}

/** Resolves when the rows are those. */
function shows(rows: Collection<Row>, expected: string): Promise<void> {
  return new Promise((resolve) => {
    rows.rows.subscribe((now) => {
      if (now.map(({ id, n }) => `${id}${n}`).join(" ") === expected) resolve();
    });
  });
}

test("Collection loads all pages in order, and applies changes", async () => {
  const pages: Record<string, Page<Row>> = {
    "": { rows: [{ id: "b", n: 2 }], next: "x" },
    x: { rows: [{ id: "a", n: 1 }] },
  };
  const rows = collection(async (cursor = "") => pages[cursor]!);
  await rows.load();
  assert.equal(rows.state.value, "loaded");
  await shows(rows, "a1 b2");
  rows.apply({ id: "a", row: { id: "a", n: 3 } });
  rows.apply({ id: "c", row: { id: "c", n: 0 } });
  rows.apply({ id: "b", row: null });
  await shows(rows, "c0 a3");
});

test("Collection keeps a live change that came while an older page was loading", async () => {
  const answer = Promise.withResolvers<Page<Row>>();
  const rows = collection(() => answer.promise);
  const loaded = rows.load();
  rows.apply({ id: "a", row: { id: "a", n: 9 } });
  answer.resolve({ rows: [{ id: "a", n: 1 }] });
  await loaded;
  await shows(rows, "a9");
});

test("Collection drops on a reload what is gone, and says why a load failed", async () => {
  let page: Page<Row> | undefined = { rows: [{ id: "a", n: 1 }] };
  const rows = collection(async () => {
    if (page === undefined) throw new RequestError(403, "Not for you.");
    return page;
  });
  await rows.load();
  page = { rows: [{ id: "b", n: 1 }] };
  await rows.reload();
  await shows(rows, "b1");
  page = undefined;
  await rows.reload();
  assert.deepEqual(rows.state.value, { failed: "Not for you." });
});
