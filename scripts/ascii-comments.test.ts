import assert from "node:assert/strict";
import { test } from "node:test";
import { withAsciiComments } from "./ascii-comments.ts";

test("withAsciiComments() changes letters in comments, and no length", () => {
  const code = 'f(); // "a"\n  // … one\n/* é\n * two → three\n */\ng("\\u2026");\n';
  const ascii = withAsciiComments(code);
  assert.equal(ascii, 'f(); // "a"\n  // ? one\n/* ?\n * two ? three\n */\ng("\\u2026");\n');
  assert.equal(ascii.length, code.length);
});

test("withAsciiComments() fails on a letter that means something", () => {
  assert.throws(() => withAsciiComments('f("…");'), /it has … at 3 outside of comments/);
});
