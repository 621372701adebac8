import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { until } from "../../../test/support/until.ts";
import { Log } from "../../base/log.ts";
import { forgetDeleted } from "./forget-deleted.ts";

describe("forgetDeleted()", { timeout: 30_000 }, () => {
  it("forgets what was deleted elsewhere, and tries again what failed", async () => {
    const left = new Map([
      ["a", { url: "u" }],
      ["b", undefined],
    ]);
    const forgotten: unknown[] = [];
    const problems: string[] = [];
    await using _ = forgetDeleted({
      async *deleted() {
        for (const [id, run] of left) yield { id, run, drop: async () => void left.delete(id) };
      },
      forget: async (id, run) => {
        forgotten.push([id, run]);
        if (forgotten.length === 1) throw new Error("The disk is full");
      },
      log: new Log("warn", (line) => void problems.push(line)),
      every: 10,
    });
    await until(() => left.size === 0);
    assert.deepEqual(forgotten, [
      ["a", { url: "u" }],
      ["a", { url: "u" }],
      ["b", undefined],
    ]);
    assert.match(problems.join("\n"), /session\.not-forgotten.*The disk is full/);
  });
});
