import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { DENIED_NAMES, isDisguised, nameJudge } from "./forbidden-name.ts";

describe("nameJudge()", () => {
  const judge = nameJudge([...DENIED_NAMES, ".github/workflows/*"]);

  it("refuses the names in any letter case and any folder, and configured paths", () => {
    for (const path of [".env", ".ENV", "a/.env.local", "a/B.PEM", ".github/workflows/ci.yml"]) {
      assert.match(judge(path) ?? "", /not committed/, path);
    }
    for (const path of ["env", "a.env", ".environment", "pem", ".github/workflows/a/b", "a.keys"]) {
      assert.equal(judge(path), undefined, path);
    }
  });

  it("refuses invisible characters in names", () => {
    for (const path of ["a\u0007", "a\nb", "gnp.\u202eexe", "\u2066x"]) {
      assert.match(judge(path) ?? "", /invisible/);
    }
    assert.equal(judge("naïve/日本語 (1).txt"), undefined);
  });
});

describe("isDisguised()", () => {
  it("recognises names that Windows and macOS read as .git or .gitmodules", () => {
    const names = [".GIT", ".git.", ".git ", "GIT~1", ".git::$INDEX_ALLOCATION", ".gi\u200dt"];
    for (const name of [...names, ".gitmodules ", "GITMOD~2", "gi7eba~1", String.raw`x\.git`]) {
      assert.ok(isDisguised(`a/${name}/b`), name);
    }
    for (const name of [".gitignore", ".github", "git", ".gitmodules", "git~2", "x.git"]) {
      assert.ok(!isDisguised(`a/${name}/b`), name);
    }
  });
});
