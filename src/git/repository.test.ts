import assert from "node:assert/strict";
import { mkdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";

import { discover } from "./discover.ts";
import { findRepository, listSubmodules, listWorktrees, openRepository } from "./repository.ts";
import { hasLinkedWorktrees, superproject } from "./repository.ts";
import { SampleRepository } from "../../test/samples/sample-repository.ts";

describe("findRepository()", { timeout: 60_000 }, () => {
  it("finds the repository from any folder in it (RemoteJuggler defect 6)", async () => {
    using sample = new SampleRepository();
    const deep = join(sample.path, "a/b c/d");
    mkdirSync(deep, { recursive: true });
    const expected = {
      worktree: sample.path,
      gitDir: join(sample.path, ".git"),
      commonDir: join(sample.path, ".git"),
      isBare: false,
    };
    assert.deepEqual(await findRepository(sample.gitIn(deep)), expected);
    assert.deepEqual((await discover(sample.gitIn(deep))).repository, expected);
  });

  it("finds nothing where there is none", async () => {
    using sample = new SampleRepository();
    assert.equal(await findRepository(sample.gitIn(sample.home)), undefined);
    assert.equal((await discover(sample.gitIn(sample.home))).repository, undefined);
    await assert.rejects(openRepository(sample.gitIn(sample.home)), { code: "not-found" });
  });

  it("survives line ends in the name of a folder", async () => {
    using sample = new SampleRepository();
    const odd = join(sample.home, "two\nlines\n.git");
    mkdirSync(odd);
    sample.runIn(odd, "init", "-q");
    assert.equal((await findRepository(sample.gitIn(odd)))?.worktree, odd);
  });
});

describe("discover()", { timeout: 60_000 }, () => {
  it("sees every kind of repository as git itself does", async () => {
    using sample = new SampleRepository();
    sample.commit();
    const linked = sample.addWorktree("linked");
    mkdirSync(join(linked, "deep"));
    sample.runIn(sample.home, "init", "-q", "--bare", "bare.git");
    sample.runIn(sample.home, "clone", "-q", "--bare", sample.path, "hub.git");
    sample.runIn(join(sample.home, "hub.git"), "worktree", "add", "-q", "../spoke", "main");
    sample.runIn(sample.home, "init", "-q", "--separate-git-dir", "apart.git", "apart");
    mkdirSync(join(sample.home, "half/.git"), { recursive: true });
    mkdirSync(join(sample.path, "inner/.git"), { recursive: true });
    symlinkSync(sample.path, join(sample.home, "link"));
    sample.runIn(sample.path, ...allowFile, "submodule", "add", "-q", sample.path, "module");
    sample.runIn(sample.home, "init", "-q", "moved");
    sample.runIn(join(sample.home, "moved"), "config", "core.worktree", sample.home);
    sample.write("empty-config/.keep", "");
    sample.runIn(join(sample.home, "empty-config"), "init", "-q");
    sample.write("empty-config/.git/config", "");
    const folders = [
      "app",
      "app/.git",
      "app/.git/refs",
      "app/inner",
      "app/module",
      "linked/deep",
      "bare.git",
      "bare.git/refs",
      "spoke",
      "apart",
      "half",
      "link",
      "moved",
      "empty-config",
    ];
    for (const folder of folders) {
      const git = sample.gitIn(join(sample.home, folder));
      const expected = await findRepository(git);
      assert.deepEqual((await discover(git)).repository, expected, folder);
    }
  });

  it("sees a work tree that is its own and a folder that is shared", async () => {
    using sample = new SampleRepository();
    sample.commit();
    const linked = sample.addWorktree("linked");
    const { repository } = await discover(sample.gitIn(linked));
    assert.equal(repository?.worktree, linked);
    assert.equal(repository.commonDir, join(sample.path, ".git"));
    assert.equal(repository.gitDir, join(sample.path, ".git/worktrees/linked"));
    assert.ok(hasLinkedWorktrees(repository));
    const all = await listWorktrees(sample.gitIn(linked));
    assert.deepEqual(
      all.map(({ path, branch }) => [path, branch]),
      [
        [sample.path, "main"],
        [linked, "linked"],
      ],
    );
  });
});

const allowFile = ["-c", "protocol.file.allow=always"];

describe("listSubmodules()", { timeout: 60_000 }, () => {
  it("names them, and each knows whose it is", async () => {
    using sample = new SampleRepository();
    sample.commit();
    assert.deepEqual(await listSubmodules(sample.git, sample.path), []);
    sample.run(...allowFile, "submodule", "add", "-q", sample.path, "lib/a b");
    assert.deepEqual(await listSubmodules(sample.git, sample.path), [
      { name: "lib/a b", path: "lib/a b", url: sample.path, isCheckedOut: true },
    ]);
    const inside = sample.gitIn(join(sample.path, "lib/a b"));
    assert.equal(await superproject(inside), sample.path);
    assert.equal(await superproject(sample.git), undefined);
  });
});
