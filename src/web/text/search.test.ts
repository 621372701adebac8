import assert from "node:assert/strict";
import { test } from "node:test";

import { matcher } from "./search.ts";

test("matcher() finds rows that have all words, in any order and case", () => {
  const row = { title: "Fix the Parser", branch: "main" };
  const wordsOf = ({ title, branch }: typeof row): string => `${title}\n${branch}`;
  const found = (search: string): boolean => matcher(search, wordsOf)(row);
  assert.deepEqual(["", "parser", "MAIN fix", "  the ", "fix dev"].map(found), [
    ...[true, true, true, true, false],
  ]);
});
