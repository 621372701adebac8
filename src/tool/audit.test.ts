import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { isoText } from "./audit.ts";

describe("isoText", () => {
  it("is the text of Date, within a second and from one to another", () => {
    const start = Date.UTC(2026, 10, 17, 23, 59, 58);
    const later = [0, 1, 9, 10, 99, 100, 999, 1_000, 1_001, 999, 1_999, 2_000, 86_400_000, 7];
    for (const milliseconds of later) {
      const time = start + milliseconds;
      assert.equal(isoText(time), new Date(time).toISOString());
    }
  });
});
