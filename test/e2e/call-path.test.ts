import assert from "node:assert/strict";
import { it } from "node:test";

import { countFunctions, measureCallPath } from "../../scripts/call-path.ts";

/** What a reader of one call meets. Lower them when a change makes the way shorter. */
const MOST_FILES = 50;
const MOST_FUNCTIONS = 180;

it("a call of another server's tool over /mcp meets few files and functions", async () => {
  const path = await measureCallPath();
  const files = [...path.keys()].join("\n");
  assert.ok(path.size <= MOST_FILES, `${path.size} files:\n${files}`);
  const functions = countFunctions(path);
  assert.ok(functions <= MOST_FUNCTIONS, `${functions} functions. See scripts/call-path.ts --list`);
  // It is the whole way: from the socket to the server, and on record.
  for (const part of ["server/http", "tool/toolbox", "upstream/upstream", "store/audit"]) {
    assert.match(files, new RegExp(part));
  }
});
