import assert from "node:assert/strict";
import { test } from "node:test";

import { keyOf, lineWords } from "./line-words.ts";

test("keyOf() ignores space and the kind of quotes, and nothing else", () => {
  assert.equal(keyOf("\tcall( 'a b' )"), keyOf('    call("ab")'));
  assert.notEqual(keyOf("it's"), keyOf("its"));
  assert.notEqual(keyOf("call(a);"), keyOf("call(a)"));
});

test("lineWords() leaves out what a formatter adds, and names the line of each word", () => {
  const lines = ["skipped", "// call it", "  call('one', (two));", "", " * @param  naïve_1"];
  assert.deepEqual(lineWords(lines, 1, lines.length), {
    words: ["call", "it", "call", "one", "two", "@", "param", "naïve_1"],
    lines: [1, 1, 2, 2, 2, 4, 4, 4],
  });
});
