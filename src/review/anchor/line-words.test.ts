import assert from "node:assert/strict";
import { test } from "node:test";

import { keyOf, lineWords } from "./line-words.ts";

test("keyOf() ignores space and the kind of quotes, and nothing else", () => {
  assert.equal(keyOf("\tcall( 'a b' )"), keyOf('    call("ab")'));
  assert.notEqual(keyOf("it's"), keyOf("its"));
  assert.notEqual(keyOf("call(a);"), keyOf("call(a)"));
});

test("lineWords() leaves out what a formatter adds, and names the line of each word", () => {
  const lines = ["// call it", "  call('one', (two));", "", " * @param  naïve_1"];
  assert.deepEqual(lineWords(lines), {
    words: ["call", "it", "call", "one", "two", "@", "param", "naïve_1"],
    lines: [0, 0, 1, 1, 1, 3, 3, 3],
  });
});

test("lineWords() takes no longer for a line of a million stars", () => {
  const { words } = lineWords([`a ${"*".repeat(1_000_000)} b`]);
  assert.equal(words.length, 1_000_002);
  assert.deepEqual(lineWords([`a ${"*".repeat(1_000_000)}/ `]).words, ["a"]);
});
