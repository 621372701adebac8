import assert from "node:assert/strict";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";

import { isGitOwned } from "./git-folder.ts";
import { SampleRepository } from "../../test/samples/sample-repository.ts";

describe("isGitOwned()", () => {
  it("recognises .git under all its names", () => {
    const owned = [".git", ".git/config", "sub/.git/hooks/pre-commit", ".GIT/config", ".Git/x"];
    const odd = ["git~1/config", "GIT~1", ".git./config", ".git /config", ".git...", "a\\.git\\b"];
    const hidden = [".g\u200cit/config", "\ufeff.git/x", ".git::$INDEX_ALLOCATION/config"];
    for (const path of [...owned, ...odd, ...hidden]) {
      assert.ok(isGitOwned(join("/work", path)), path);
    }
  });

  it("leaves files alone that only have similar names", () => {
    const names = [
      ".gitignore",
      ".gitattributes",
      ".github/x",
      "a.git.md",
      "git",
      "git~2",
      "x.git",
    ];
    for (const name of names) assert.ok(!isGitOwned(join("/work", name)), name);
  });

  it("recognises repositories with other names", () => {
    using sample = new SampleRepository();
    sample.commit();
    sample.runIn(sample.home, "clone", "-q", "--bare", sample.path, "app/vendor/lib");
    sample.runIn(sample.home, "init", "-q", "--separate-git-dir", "app/meta", "app/apart");
    for (const file of ["vendor/lib/config", "vendor/lib/hooks/new", "meta/hooks/pre-commit"]) {
      assert.ok(isGitOwned(join(sample.path, file)), file);
    }
    assert.ok(!isGitOwned(join(sample.path, "apart/README")));
  });

  it("allows writing to a work tree inside the folder of its repository", () => {
    using sample = new SampleRepository();
    sample.commit();
    sample.runIn(sample.home, "clone", "-q", "--bare", sample.path, "hub");
    sample.runIn(join(sample.home, "hub"), "worktree", "add", "-q", "spoke");
    assert.ok(!isGitOwned(join(sample.home, "hub/spoke/src/a.ts")));
    assert.ok(isGitOwned(join(sample.home, "hub/worktrees/spoke/config.worktree")));
  });

  it("does not allow creating a repository piece by piece", () => {
    using sample = new SampleRepository();
    const folder = join(sample.path, "made");
    mkdirSync(join(folder, "refs"), { recursive: true });
    writeFileSync(join(folder, "HEAD"), "ref: refs/heads/main\n");
    assert.ok(!isGitOwned(join(folder, "config")));
    assert.ok(isGitOwned(join(folder, "objects/info/x")));
    rmSync(join(folder, "refs"), { recursive: true });
    assert.ok(!isGitOwned(join(folder, "objects/info/x")));
  });
});
