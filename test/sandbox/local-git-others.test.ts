import assert from "node:assert/strict";
import { existsSync, mkdirSync, renameSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";

import { until } from "../support/until.ts";
import { git, GitSandbox, skip } from "../support/git-sandbox.ts";

describe("a repository that a shadow cannot stand in for", { skip, timeout: 300_000 }, () => {
  const odd: Readonly<Record<string, (repo: string) => void>> = {
    "it shares the objects of another": (repo) => {
      writeFileSync(join(repo, ".git/objects/info/alternates"), "/nonexistent/objects\n");
    },
    "its index is split": (repo) => void git(repo, "update-index", "--split-index"),
    "a ref is a link": (repo) => symlinkSync("main", join(repo, ".git/refs/heads/link")),
    "its objects are a link": (repo) => {
      renameSync(join(repo, ".git/objects"), join(repo, "objects"));
      symlinkSync("../objects", join(repo, ".git/objects"));
    },
    "its .git names a folder that does not name it": (repo) => {
      renameSync(join(repo, ".git"), join(repo, "elsewhere"));
      writeFileSync(join(repo, ".git"), "gitdir: elsewhere\n");
    },
    "its .git is a link": (repo) => {
      renameSync(join(repo, ".git"), join(repo, "elsewhere"));
      symlinkSync("elsewhere", join(repo, ".git"));
    },
  };
  for (const [why, make] of Object.entries(odd)) {
    it(`can be read, and not changed, if ${why}`, async () => {
      await using at = await GitSandbox.open((repo) => {
        make(repo);
        return repo;
      });
      const before = at.git("for-each-ref");
      const { output, limits } = await at.run(
        "git log --format=%s; git commit --allow-empty -m x; echo x > elsewhere/hooks/x; rm -f .git",
      );
      assert.ok(!existsSync(join(at.repo, "elsewhere/hooks/x")));
      assert.match(output, /first/);
      assert.match(output, /Read-only file system|Device or resource busy/);
      assert.match(limits.join("\n"), /can only be read/);
      assert.equal(at.git("for-each-ref"), before);
    });
  }

  it("is refused if its objects have other ids", async () => {
    let folder = "";
    await using at = await GitSandbox.open((repo) => {
      folder = join(repo, "../sha256");
      mkdirSync(folder);
      git(folder, "init", "-q", "--object-format=sha256");
      return folder;
    });
    const { output, limits } = await at.run("git commit --allow-empty -m x", folder);
    assert.match(output, /Read-only file system/);
    assert.match(limits.join("\n"), /SHA-256/);
  });
});

describe("a command while somebody else uses the repository", { skip, timeout: 300_000 }, () => {
  it("does not undo what the person commits meanwhile, and its own commit is kept", async () => {
    await using at = await GitSandbox.open();
    const go = join(at.repo, "go");
    const running = at.run(
      "echo b > b.txt; git add b.txt; git commit -qm B; touch ready; while ! [ -e go ]; do sleep 0.02; done",
    );
    await until(() => existsSync(join(at.repo, "ready")));
    writeFileSync(join(at.repo, "mine.txt"), "mine");
    at.git("add", "mine.txt");
    at.git("commit", "-qm", "Mine");
    writeFileSync(go, "");
    const { notes } = await running;
    assert.match(notes.join("\n"), /'refs\/heads\/main' was moved by somebody else/);
    assert.equal(at.git("log", "--format=%s", "main"), "Mine\nfirst\n");
    const kept = at.git("for-each-ref", "--format=%(refname)", "refs/trunkline").trim();
    assert.match(kept, /^refs\/trunkline\/kept\/heads\/main\//);
    assert.equal(at.git("log", "--format=%s", kept), "B\nfirst\n");
    assert.equal(at.git("status", "--porcelain"), "?? b.txt\n?? go\n?? ready\n");
  });

  it("and another command stages something else", async () => {
    await using at = await GitSandbox.open();
    const wait = (own: string, other: string): string =>
      `echo ${own} > ${own}.txt; git add ${own}.txt; git branch ${own}; touch ${own}; while ! [ -e ${other} ]; do sleep 0.02; done`;
    const [one, two] = await Promise.all([at.run(wait("one", "two")), at.run(wait("two", "one"))]);
    assert.deepEqual([...one.notes, ...two.notes], []);
    assert.equal(at.git("ls-files"), "a.txt\none.txt\ntwo.txt\n");
    assert.equal(at.git("for-each-ref", "--format=%(refname:short)"), "main\none\ntwo\n");
  });

  it("does not move a branch that another work tree has checked out", async () => {
    await using at = await GitSandbox.open((repo) => {
      const tree = join(repo, "../tree");
      git(repo, "worktree", "add", "-q", tree);
      return tree;
    });
    const before = at.git("rev-parse", "main");
    const tree = join(at.repo, "../tree");
    const { notes } = await at.run(
      "git commit -q --allow-empty -m x; git update-ref refs/heads/main HEAD",
      tree,
    );
    assert.match(notes.join("\n"), /checked out in another work tree/);
    assert.equal(at.git("rev-parse", "main"), before);
  });
});
