import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { gitCommand } from "./git.ts";
import { HostileRepository } from "../../test/samples/sample-hostile-repository.ts";
import { SampleRepository } from "../../test/samples/sample-repository.ts";

describe("Git", () => {
  it("refuses an unknown command, which could be an alias", async () => {
    using sample = new HostileRepository();
    sample.fired();
    for (const mode of ["read", "write"] as const) {
      await assert.rejects(sample.git.run(["st"], { mode }), /Cannot run 'git st'/);
    }
    assert.deepEqual(sample.fired(), []);
  });

  it("looks up filters to blame a file of the work tree, and not to blame a commit", () => {
    const id = "a".repeat(40);
    const looksUp = (...args: string[]): boolean | undefined =>
      gitCommand(["blame", ...args], "read").filters;
    assert.equal(looksUp("-w", id, "--", "a"), false);
    // A file may have any name.
    for (const args of [["--", "a"], ["--", id], [id], ["HEAD", "--", id, "--", id]]) {
      assert.equal(looksUp(...args), true, args.join(" "));
    }
  });

  it("does not write when only reading is allowed", async () => {
    using sample = new SampleRepository();
    for (const args of [
      ["commit", "-m", "x"],
      ["add", "."],
      ["config", "a.b", "c"],
    ]) {
      await assert.rejects(sample.git.run(args), /to read: it may write/);
    }
  });
});
