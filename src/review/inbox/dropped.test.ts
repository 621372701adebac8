import assert from "node:assert/strict";
import { join } from "node:path";
import { describe, it } from "node:test";

import { threadOfDropped } from "./dropped.ts";
import { SampleRepository } from "../../../test/samples/sample-review-repository.ts";

describe("threadOfDropped()", () => {
  it("uses the named project, then the file's own, then the current folder", async () => {
    using own = new SampleRepository();
    using other = new SampleRepository();
    const rootOf = async (dropped: object): Promise<string> => {
      const thread = await threadOfDropped({ file: "a.txt", comment: "x", ...dropped }, own.root);
      return thread.repository.root;
    };
    const file = join(other.root, "a.txt");
    assert.equal(await rootOf({ project_root: other.root }), other.root);
    assert.equal(await rootOf({ file, project_root: own.root }), own.root);
    assert.equal(await rootOf({ file }), other.root);
    assert.equal(await rootOf({}), own.root);
  });
});
