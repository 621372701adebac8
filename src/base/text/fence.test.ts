import assert from "node:assert/strict";
import { test } from "node:test";

import { fenceFor } from "./fence.ts";

test("fenceFor() has more marks than the text has in a row, however many rows there are", () => {
  assert.equal(fenceFor("plain `code`"), "```");
  assert.equal(fenceFor("```\na\n````\n"), "`````");
  assert.equal(fenceFor("` ".repeat(1_000_000)), "```");
});
