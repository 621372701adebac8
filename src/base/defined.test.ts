import assert from "node:assert/strict";
import { it } from "node:test";

import { defined } from "./defined.ts";

it("defined() leaves out members that are undefined, and nothing else", () => {
  interface Some {
    readonly a?: number;
    readonly b?: string | null;
    readonly c?: string;
  }
  const some = defined<Some>({ a: 0, b: null, c: undefined });
  assert.deepEqual(Object.entries(some), [
    ["a", 0],
    ["b", null],
  ]);
});
