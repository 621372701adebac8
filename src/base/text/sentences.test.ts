import assert from "node:assert/strict";
import { test } from "node:test";

import { sentences } from "./sentences.ts";

test("sentences() puts one full stop between statements", () => {
  assert.equal(
    sentences(["It failed", "Install it.", "Or wait"]),
    "It failed. Install it. Or wait",
  );
  assert.equal(sentences(["Install it."]), "Install it");
  assert.equal(sentences([]), "");
});
