import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";

import { GitSandbox, skip } from "../../../test/support/git-sandbox.ts";

describe("git in commands", { skip, timeout: 120_000 }, () => {
  it("commits, and the person's repository has the commit", async () => {
    await using at = await GitSandbox.open();
    writeFileSync(join(at.repo, "new.txt"), "new\n");
    const { output, notes } = await at.run(
      "git add new.txt && git commit -qm 'Add it' && git log --format=%s",
    );
    assert.equal(output, "Add it\nfirst\n");
    assert.deepEqual(notes, []);
    assert.equal(at.git("log", "--format=%s"), "Add it\nfirst\n");
    assert.equal(at.git("status", "--porcelain"), "");
    assert.equal(at.git("fsck", "--strict"), "");
  });
});
