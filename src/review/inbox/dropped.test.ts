import assert from "node:assert/strict";
import { join } from "node:path";
import { describe, it } from "node:test";

import { isOnGitFile, threadOfDropped } from "./drop-files.ts";
import { SampleRepository } from "../../../test/samples/sample-review-repository.ts";

describe("threadOfDropped()", () => {
  it("uses the named project, then the file's own, then the current folder", async () => {
    using own = new SampleRepository();
    using other = new SampleRepository();
    using commands = await own.commands();
    const rootOf = async (dropped: object): Promise<string> => {
      const comment = { file: "a.txt", comment: "x", ...dropped };
      const thread = await threadOfDropped(commands.reviews, comment, own.root);
      return thread.repository.root;
    };
    const file = join(other.root, "a.txt");
    assert.equal(await rootOf({ project_root: other.root }), other.root);
    assert.equal(await rootOf({ file, project_root: own.root }), own.root);
    assert.equal(await rootOf({ file }), other.root);
    assert.equal(await rootOf({}), own.root);
  });
});

describe("isOnGitFile()", () => {
  it("finds git's own files by relative and absolute names", () => {
    using own = new SampleRepository();
    const isOwn = (file: string, more: object = {}): boolean =>
      isOnGitFile({ file, comment: "x", ...more }, own.root);
    assert.equal(isOwn(".git/config"), true);
    assert.equal(isOwn("sub/.GIT/hooks/x"), true);
    assert.equal(isOwn(join(own.root, ".git/hooks/pre-commit")), true);
    assert.equal(isOwn(join(own.root, ".git/config"), { project_root: own.root }), true);
    assert.equal(isOwn(".gitignore"), false);
    assert.equal(isOwn(join(own.root, ".github/x.yml")), false);
  });
});
