import assert from "node:assert/strict";
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";

import { findRepository, headCommit, openRepository, pathIn } from "./repository.ts";
import { SampleRepository } from "../../test/samples/sample-review-repository.ts";

describe("findRepository()", () => {
  it("finds a repository from any folder in it, and by any path to it", () => {
    using sample = new SampleRepository();
    sample.write("a/b/x", "x");
    const link = join(sample.parent, "link");
    symlinkSync(sample.root, link);
    const gitDir = join(sample.root, ".git");
    for (const folder of [sample.root, join(sample.root, "a/b"), join(link, "a"), gitDir]) {
      const found = findRepository(folder);
      assert.equal(found?.gitDir, gitDir, folder);
      assert.equal(found?.root, sample.root, folder);
    }
    assert.equal(findRepository(sample.parent), undefined);
    assert.equal(findRepository(join(sample.parent, "nothing")), undefined);
    assert.throws(() => openRepository(sample.parent), { code: "not-found", message: /--repo/ });
  });

  it("treats all worktrees as one repository, each with its own root", () => {
    using sample = new SampleRepository();
    const commit = sample.commit();
    const tree = join(sample.parent, "other tree");
    sample.git("worktree", "add", "--quiet", "-b", "side", tree);
    const found = openRepository(tree);
    assert.equal(found.gitDir, join(sample.root, ".git"));
    assert.equal(found.root, tree);
    assert.equal(headCommit(found), commit);
    sample.git("pack-refs", "--all");
    assert.equal(headCommit(found), commit);
  });

  it("treats a submodule as a separate repository", () => {
    using sample = new SampleRepository();
    using other = new SampleRepository();
    other.write("x", "x");
    other.commit();
    sample.git("submodule", "--quiet", "add", other.root, "sub");
    const found = openRepository(join(sample.root, "sub"));
    assert.equal(found.gitDir, join(sample.root, ".git/modules/sub"));
    assert.equal(found.root, join(sample.root, "sub"));
    assert.equal(headCommit(found), other.git("rev-parse", "HEAD"));
  });

  it("recognises a bare repository, and what is checked out without a branch", () => {
    using sample = new SampleRepository();
    assert.equal(headCommit(openRepository(sample.root)), undefined);
    const commit = sample.commit();
    const bare = join(sample.parent, "bäre repo.git");
    sample.git("clone", "--quiet", "--bare", sample.root, bare);
    const found = openRepository(bare);
    assert.equal(found.gitDir, bare);
    assert.equal(found.isBare, true);
    sample.git("checkout", "--quiet", "--detach");
    assert.equal(headCommit(openRepository(sample.root)), commit);
  });

  it("treats a bare repository inside another's files as files", () => {
    using sample = new SampleRepository();
    sample.commit();
    const embedded = join(sample.root, "vendor/lib.git");
    sample.git("clone", "--quiet", "--bare", sample.root, embedded);
    assert.equal(openRepository(join(embedded, "refs")).root, sample.root);
  });
});

describe("pathIn()", () => {
  it("resolves from the folder, then from the root, and never leads outside", () => {
    using sample = new SampleRepository();
    sample.write("src/a.go", "a");
    sample.write("top.go", "b");
    const { root } = sample;
    const repository = openRepository(root);
    const src = join(root, "src");
    assert.equal(pathIn(repository, src, "a.go"), "src/a.go");
    assert.equal(pathIn(repository, src, "src/a.go"), "src/a.go");
    assert.equal(pathIn(repository, src, "../top.go"), "top.go");
    assert.equal(pathIn(repository, src, join(root, "top.go")), "top.go");
    assert.equal(pathIn(repository, src, "gone/away.go"), "src/gone/away.go");
    for (const file of ["..", root]) {
      assert.throws(() => pathIn(repository, src, file), { message: /the whole repository/ }, file);
    }
    for (const file of ["../../x", "/etc/passwd", ""]) {
      assert.throws(() => pathIn(repository, src, file), { code: "usage" }, file);
    }
  });

  it("follows links to folders, but not a link that is itself commented on", () => {
    using sample = new SampleRepository();
    sample.write("real/a", "a");
    symlinkSync("a", join(sample.root, "real/link"));
    const link = join(sample.parent, "link");
    symlinkSync(sample.root, link);
    const repository = openRepository(link);
    assert.equal(pathIn(repository, link, join(link, "real/a")), "real/a");
    assert.equal(pathIn(repository, link, "real/link"), "real/link");
    const outside = join(sample.parent, "outside");
    mkdirSync(outside);
    writeFileSync(join(outside, "x"), "x");
    symlinkSync(outside, join(sample.root, "way-out"));
    assert.throws(() => pathIn(repository, link, "way-out/x"), { code: "usage" });
  });
});
