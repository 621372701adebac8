import assert from "node:assert/strict";
import { mkdirSync, mkdtempDisposableSync, readdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";

import { removeUnfinished, unfinishedName } from "./repository-cache.ts";

describe("removeUnfinished()", () => {
  it("removes the folders of processes that have ended, and nothing else", async () => {
    using folder = mkdtempDisposableSync(join(tmpdir(), "trunkline-unfinished-"));
    // This number was given again, to us.
    const gone = `${process.pid}-1`;
    const ours = unfinishedName("mine");
    for (const name of [ours, `theirs.unfinished-${gone}`, "done", "x.unfinished-y"]) {
      mkdirSync(join(folder.path, name, "inside"), { recursive: true });
    }
    await removeUnfinished(folder.path);
    assert.deepEqual(readdirSync(folder.path).toSorted(), ["done", ours, "x.unfinished-y"]);
    await removeUnfinished(join(folder.path, "nowhere"));
  });
});
