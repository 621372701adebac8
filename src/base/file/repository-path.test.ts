import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { isRepositoryPath } from "./repository-path.ts";

describe("isRepositoryPath()", () => {
  it("accepts files of a repository, and nothing outside of it or of git's own", () => {
    for (const path of ["a.txt", "src/a.txt", "..a/b..", ".gitignore"]) {
      assert.equal(isRepositoryPath(path), true, path);
    }
    const others = ["", "/etc/passwd", "../a", "a/../../b", "a//b", "./a", "a\0b"];
    for (const path of [...others, ".git/config", "a/.GIT/x", "git~1/x"]) {
      assert.equal(isRepositoryPath(path), false, path);
    }
  });
});
