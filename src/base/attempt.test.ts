import assert from "node:assert/strict";
import { test } from "node:test";

import { attempt } from "./attempt.ts";

const fails = (): number => JSON.parse("{") as number;

test("attempt() returns what the work returns", () => {
  assert.equal(
    attempt(() => 1, 2),
    1,
  );
  assert.equal(
    attempt(() => undefined, 2),
    undefined,
  );
});

test("attempt() returns the other value where the work throws, or undefined without one", () => {
  assert.equal(attempt(fails, 2), 2);
  assert.equal(attempt(fails), undefined);
});
