import assert from "node:assert/strict";
import { test } from "node:test";
import { packOf } from "./pack.ts";

test("packOf() has a name that tells one content from another", () => {
  const pack = (text: string) => packOf(new Map([["a.js", Buffer.from(text)]]));
  assert.equal(pack("one").name, pack("one").name);
  assert.notEqual(pack("one").name, pack("two").name);
  assert.match(pack("one").name, /^code-[0-9a-f]{16}\.pack$/);
});
