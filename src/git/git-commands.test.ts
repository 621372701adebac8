import assert from "node:assert/strict";
import { describe, it } from "node:test";

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
