import assert from "node:assert/strict";
import { test } from "node:test";

import { commandWords } from "./command-words.ts";

test("commandWords() takes a line apart as a shell does", () => {
  assert.deepEqual(commandWords(` npx  -y "a b" 'c"d' e\\ f "" `), [
    ...["npx", "-y", "a b", 'c"d', "e f", ""],
  ]);
  assert.deepEqual(commandWords("https://example.com/mcp"), ["https://example.com/mcp"]);
  assert.deepEqual(commandWords("  "), []);
  assert.equal(commandWords(`echo "open`), undefined);
});
