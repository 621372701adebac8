import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";

import { seeded } from "../fuzz/fuzz-run.ts";
import { oneIn } from "../support/full-run.ts";
import { git, GitSandbox, skip } from "../support/git-sandbox.ts";
import { formatIndex, GITLINK, parseIndex } from "../../src/git/index-entries.ts";

/** Everything in a git folder that git believes. */
function believed(folder: string): string {
  const skipped = /^(?:objects|logs|refs|index|HEAD|packed-refs|ORIG_HEAD|COMMIT_EDITMSG)$/;
  const list = (path: string): string[] =>
    readdirSync(join(folder, path)).flatMap((name) => {
      const below = join(path, name);
      if (/^(?:worktrees\/[^/]+)?$/.test(path) && skipped.test(name)) return [];
      const stats = lstatSync(join(folder, below));
      if (stats.isDirectory()) return [below, ...list(below)];
      return [`${below} ${stats.mode} ${readFileSync(join(folder, below), "latin1")}`];
    });
  return list("").join("\n");
}

/** What a person does next; none of it may run what a command has planted. */
function useAsPerson(top: string): void {
  git(top, "status");
  git(top, "diff");
  writeFileSync(join(top, "mine.txt"), crypto.randomUUID());
  git(top, "add", "mine.txt");
  git(top, "commit", "-qm", "Mine");
  git(top, "switch", "-qc", crypto.randomUUID());
  git(top, "switch", "-q", "-");
  git(top, "log", "-p");
  git(top, "fsck", "--no-dangling");
}

/** Of the attacks in a work tree one in so many, in `npm test`. */
const PART = 3;

const EVIL = `mkdir -p /tmp/e; printf '#!/bin/sh\\ntouch "$RAN"\\n' > /tmp/e/evil; chmod +x /tmp/e/evil`;

/** Each plants something that would run "evil" outside, and says what it is. */
const PLANTED: Readonly<Record<string, string>> = {
  hooks:
    "for hook in pre-commit post-commit post-checkout reference-transaction post-index-change; do cp /tmp/e/evil .git/hooks/$hook; done",
  "a folder of hooks":
    "mv .git/hooks .git/old; mkdir .git/hooks; cp /tmp/e/evil .git/hooks/post-commit",
  settings:
    "git config core.fsmonitor $PWD/evil; git config core.hooksPath $PWD; cp /tmp/e/evil evil; cp evil post-commit",
  "settings by hand":
    "cp /tmp/e/evil evil; printf '[core]\\n\\tfsmonitor = %s/evil\\n[include]\\n\\tpath = ../more\\n' $PWD >> .git/config",
  "settings of the work tree":
    "cp /tmp/e/evil evil; git config extensions.worktreeConfig true; printf '[core]\\n\\tfsmonitor = %s/evil\\n' $PWD > .git/config.worktree",
  "a filter":
    "cp /tmp/e/evil evil; echo '* filter=x diff=x' > .git/info/attributes; git config filter.x.clean $PWD/evil; git config diff.x.textconv $PWD/evil",
  "another common folder":
    "git init -q other; cp /tmp/e/evil other/.git/hooks/post-commit; echo ../other/.git > .git/commondir",
  "a gitdir": "echo /tmp > .git/gitdir",
  "a module": "git init -q --bare .git/modules/x; cp /tmp/e/evil .git/modules/x/hooks/post-commit",
  "a work tree":
    "mkdir -p .git/worktrees/x; echo /tmp > .git/worktrees/x/gitdir; echo evil > .git/worktrees/x/locked; git worktree add -q inner",
  "objects of others":
    "mkdir -p .git/objects/info; echo /tmp/objects >> .git/objects/info/alternates",
  "another .git":
    "mv .git old; git init -q; cp /tmp/e/evil .git/hooks/post-commit; rm -rf .git; echo 'gitdir: old' > .git",
  "replaced objects": "git replace HEAD $(git commit-tree HEAD^{tree} -m other)",
  "a rebase that runs it":
    "mkdir -p .git/rebase-merge; echo 'exec touch $RAN' > .git/rebase-merge/git-rebase-todo; echo refs/heads/main > .git/rebase-merge/head-name",
};

describe("a command that plants something in git's folder", { skip, timeout: 600_000 }, () => {
  for (const kind of ["a plain repository", "a work tree"]) {
    it(`of ${kind} plants it for itself alone`, async (test) => {
      let top = "";
      await using at = await GitSandbox.open((repo) => {
        if (kind === "a plain repository") return (top = repo);
        top = join(repo, "../tree");
        git(repo, "worktree", "add", "-q", top);
        return top;
      });
      const ran = join(at.home.path, "ran");
      const folder = git(top, "rev-parse", "--path-format=absolute", "--git-common-dir").trim();
      const own = git(top, "rev-parse", "--absolute-git-dir").trim();
      const isFile = lstatSync(join(top, ".git")).isFile();
      const pointer = isFile ? readFileSync(join(top, ".git"), "utf8") : "";
      const before = believed(folder) + believed(own);
      // All of them in a plain repository; in a work tree others each day.
      const isTried = isFile ? oneIn(PART, seeded(test)) : () => true;
      for (const [place, [what, line]] of Object.entries(PLANTED).entries()) {
        if (!isTried(place)) continue;
        const there = isFile
          ? `G=$(git rev-parse --git-common-dir)\n${line.replaceAll(".git/", "$G/")}`
          : line;
        await at.run(`RAN=${ran}; ${EVIL}\nsed -i "s#\\$RAN#${ran}#" /tmp/e/evil\n${there}`, top);
        // A second command goes on with what the first has left.
        await at.run("date > x.txt; git add x.txt; git commit -qm x", top);
        assert.equal(believed(folder) + believed(own), before, what);
        if (isFile) assert.equal(readFileSync(join(top, ".git"), "utf8"), pointer, what);
        git(top, "status");
        assert.ok(!existsSync(ran), `${what} was run`);
      }
      useAsPerson(top);
      assert.ok(!existsSync(ran), "something was run");
    });
  }
});

describe(
  "a command that leaves a git folder that is not as it should be",
  { skip, timeout: 300_000 },
  () => {
    it("with an index that leads git elsewhere", async () => {
      await using at = await GitSandbox.open();
      const entries = [...parseIndex(readFileSync(join(at.repo, ".git/index"))).values()];
      const [first] = entries;
      assert.ok(first !== undefined);
      const bad = [
        ".git/hooks/post-commit",
        "../out.txt",
        ".GIT/config",
        "sub/.git",
        "a//b",
        "git~1/x",
      ];
      const hostile = [
        ...bad.map((path) => ({ ...first, path })),
        { ...first, path: "sub2", mode: GITLINK },
        { ...first, path: "good.txt", isAssumedValid: true, isSkipped: true },
      ];
      const plain = formatIndex([...entries, ...hostile]);
      // A tree that says something else than the entries: git would commit it.
      const tree = Buffer.from("\0-1 0\n");
      const extension = Buffer.concat([
        Buffer.from("TREE"),
        Buffer.from([0, 0, 0, tree.length]),
        tree,
      ]);
      writeFileSync(
        join(at.repo, "evil.index"),
        Buffer.concat([plain.subarray(0, -20), extension, plain.subarray(-20)]),
      );
      const { notes } = await at.run("cp evil.index .git/index");
      for (const path of [...bad, "sub2"]) {
        assert.ok(
          notes.some((note) => note.includes(`'${path}' is not staged`)),
          `${path}: ${notes.join("\n")}`,
        );
      }
      const after = readFileSync(join(at.repo, ".git/index"));
      assert.deepEqual(
        [...parseIndex(after).values()].map(({ path }) => path),
        ["a.txt", "good.txt"],
      );
      assert.ok(!after.includes("TREE"));
      assert.match(git(at.repo, "ls-files", "-v"), /^H good\.txt$/m);
      const [, good] = [...parseIndex(after).values()];
      // The mode is among the bytes of the times and the size.
      assert.ok(good !== undefined && good.stat.fill(0, 24, 28).equals(Buffer.alloc(40)));
    });

    it("with an index that cannot be read, or names what is not there", async () => {
      await using at = await GitSandbox.open();
      for (const line of [
        "echo rubbish > .git/index",
        "truncate -s 20G .git/index",
        "mkfifo .git/p; mv .git/p .git/index",
        "rm .git/index; ln -s /etc/passwd .git/index",
        "printf 'DIRC\\0\\0\\0\\2\\177\\0\\0\\0' > .git/index",
        "printf '100644 1234567890123456789012345678901234567890 0\\tx\\n' | git update-index --index-info",
      ]) {
        const before = readFileSync(join(at.repo, ".git/index"));
        const { notes } = await at.run(line);
        assert.match(notes.join("\n"), /is not taken over/, line);
        assert.ok(readFileSync(join(at.repo, ".git/index")).equals(before), line);
      }
    });

    it("with refs that are odd", async () => {
      await using at = await GitSandbox.open();
      const before = at.git("for-each-ref");
      for (const line of [
        "ln -s /etc/passwd .git/refs/heads/x",
        "git update-ref refs/heads/-x HEAD",
        "git update-ref refs/heads/HEAD HEAD",
        "git update-ref refs/trunkline/x HEAD",
        "git update-ref refs/heads/1234567890123456789012345678901234567890 HEAD",
        "git symbolic-ref refs/heads/y refs/heads/main",
        "echo rubbish > .git/refs/heads/z",
        "echo 1234567890123456789012345678901234567890 > .git/refs/heads/z",
        "echo '1234567890123456789012345678901234567890 refs/heads/z' >> .git/packed-refs",
        "mkfifo .git/refs/heads/p",
        "mkfifo .git/MERGE_HEAD",
        "truncate -s 20G .git/refs/heads/h",
        "rm -r .git/refs; ln -s / .git/refs",
        "echo 'ref: refs/heads/../../config' > .git/HEAD",
        "rm .git/HEAD; mkfifo .git/HEAD",
        "rm -rf .git/* ",
      ]) {
        const { notes } = await at.run(line);
        assert.equal(at.git("for-each-ref"), before, `${line}\n${notes.join("\n")}`);
        assert.equal(at.git("symbolic-ref", "HEAD"), "refs/heads/main\n", line);
      }
      useAsPerson(at.repo);
    });

    it("with objects that are damaged", async () => {
      await using at = await GitSandbox.open();
      const before = at.git("for-each-ref");
      const commit = "echo b > b.txt; git add b.txt; git commit -qm B";
      for (const line of [
        `${commit}; for f in .git/objects/??/*; do chmod u+w $f; echo rubbish > $f; done`,
        `${commit}; rm -r .git/objects/??`,
        `${commit}; git repack -qad; chmod u+w .git/objects/pack/*; for f in .git/objects/pack/*.pack; do printf x | dd of=$f bs=1 seek=40 conv=notrunc 2>/dev/null; done`,
        "t=$(printf '40000 .git\\0\\1\\2\\3\\4\\5\\6\\7\\1\\2\\3\\4\\5\\6\\7\\1\\2\\3\\4\\5\\6' | git hash-object -t tree -w --stdin --literally); git update-ref refs/heads/main $(git commit-tree -m x $t)",
      ]) {
        const { notes } = await at.run(line);
        assert.equal(at.git("for-each-ref"), before, `${line}\n${notes.join("\n")}`);
        assert.match(notes.join("\n"), /is not taken over/, line);
      }
      useAsPerson(at.repo);
    });

    it("with files of Git LFS, of which those are taken over that are what their names say", async () => {
      await using at = await GitSandbox.open((repo) => {
        mkdirSync(join(repo, ".git/lfs/objects"), { recursive: true });
        writeFileSync(join(repo, ".git/lfs/objects/known"), "known");
        return repo;
      });
      const store = (name: string): string =>
        `d=.git/lfs/objects/$(echo ${name} | cut -c1-2)/$(echo ${name} | cut -c3-4); mkdir -p $d; printf big > $d/${name}`;
      const digest = createHash("sha256").update("big").digest("hex");
      const commit = "git commit -q --allow-empty -m Large";
      const { output, notes } = await at.run(
        `cat "$(dirname "$(cat .git/objects/info/alternates)")/lfs/objects/known"; ${store(digest)}; ${commit}`,
      );
      assert.deepEqual([output, notes], ["known", []]);
      const path = `.git/lfs/objects/${digest.slice(0, 2)}/${digest.slice(2, 4)}/${digest}`;
      assert.equal(readFileSync(join(at.repo, path), "utf8"), "big");
      const other = await at.run(`${store("ab".repeat(32))}; ${commit}`);
      assert.match(other.notes.join("\n"), /its LFS object 'abab.*' has other content/);
      assert.ok(!existsSync(join(at.repo, `.git/lfs/objects/ab/ab/${"ab".repeat(32)}`)));
      assert.equal(at.git("for-each-ref", "refs/trunkline"), "");
    });

    it("with a submodule that it has made, which stays out of the index and of branches", async () => {
      await using at = await GitSandbox.open();
      const ran = join(at.home.path, "ran");
      const line = `git init -q sub; cd sub; git commit -q --allow-empty -m x; git config core.fsmonitor 'touch ${ran}'; cd ..; git add sub`;
      const { notes } = await at.run(line);
      assert.match(notes.join("\n"), /'sub' is not staged: it would be a new submodule/);
      git(at.repo, "status");
      const before = at.git("rev-parse", "main");
      const committed = await at.run("git add sub; git commit -qm Sub");
      assert.match(committed.notes.join("\n"), /new submodule/);
      assert.equal(at.git("rev-parse", "main"), before);
      assert.match(
        at.git("for-each-ref", "refs/trunkline/kept"),
        /commit\trefs\/trunkline\/kept\/heads\/main\//,
      );
      git(at.repo, "status");
      assert.ok(!existsSync(ran), "git went into it");
    });

    it("with a repository in the place of a submodule that is not checked out", async () => {
      await using at = await GitSandbox.open((repo) => {
        const lib = join(repo, "../lib");
        git(repo, "clone", "-q", repo, lib);
        git(repo, "-c", "protocol.file.allow=always", "submodule", "add", "-q", lib, "lib");
        git(repo, "commit", "-qm", "Add lib");
        const tree = join(repo, "../tree");
        git(repo, "worktree", "add", "-q", tree);
        return tree;
      });
      const tree = join(at.repo, "../tree");
      const ran = join(at.home.path, "ran");
      const plant = `git init -q lib; git -C lib config core.fsmonitor 'touch ${ran}'; git -C lib commit -q --allow-empty -m x`;
      await at.run(plant, tree);
      const { notes } = await at.run(`mv lib old; ${plant}`, tree);
      git(tree, "status");
      assert.ok(!existsSync(ran), notes.join("\n"));
    });

    it("with a repository in a folder that has files of the person's own one", async () => {
      await using at = await GitSandbox.open((repo) => {
        mkdirSync(join(repo, "src/lib"), { recursive: true });
        writeFileSync(join(repo, "src/lib/x.txt"), "x");
        git(repo, "add", "--all");
        git(repo, "commit", "-qm", "Add lib");
        return repo;
      });
      const ran = join(at.home.path, "ran");
      for (const folder of ["src", "src/lib"]) {
        const plant = `git init -q; git config core.fsmonitor 'touch ${ran}'`;
        const { notes } = await at.run(`cd ${folder}; ${plant}`);
        assert.match(notes.join("\n"), /put into '.*' is now '\.git-set-aside/);
        git(join(at.repo, folder), "status");
      }
      const plant = `git init -q lib; git -C lib config core.fsmonitor 'touch ${ran}'`;
      const { notes } = await at.run(`mv src/lib lib; ${plant}; ln -s ../lib src/lib`);
      assert.deepEqual(notes, []);
      await at.run("rm src/lib; mv lib src/lib");
      git(join(at.repo, "src/lib"), "status");
      assert.ok(!existsSync(ran));
    });

    it("with another repository in the place of one that was there", async () => {
      await using at = await GitSandbox.open((repo) => {
        git(repo, "init", "-q", "inner");
        git(join(repo, "inner"), "commit", "-q", "--allow-empty", "-m", "inner");
        return repo;
      });
      const ran = join(at.home.path, "ran");
      const plant = `git -C inner config core.fsmonitor 'touch ${ran}'`;
      const { output } = await at.run(`mv inner moved; git init -q inner; ${plant}`);
      assert.match(output, /cannot move 'inner'.*busy/);
      await at.run("echo x > inner/.git/hooks/x");
      git(join(at.repo, "inner"), "status");
      assert.ok(!existsSync(join(at.repo, "inner/.git/hooks/x")));
      assert.ok(!existsSync(ran));
    });
  },
);

describe("a repository that a command makes", { skip, timeout: 300_000 }, () => {
  it("in the folder of the session is made again without its hooks and settings", async () => {
    let folder = "";
    await using at = await GitSandbox.open((repo) => {
      folder = join(repo, "../fresh");
      mkdirSync(folder);
      return folder;
    });
    const ran = join(at.home.path, "ran");
    const lines = [
      "git init -q -b trunk; git config user.name A; git config user.email a@b; echo a > a.txt; git add a.txt; git commit -qm First",
      `printf '#!/bin/sh\\ntouch ${ran}\\n' > .git/hooks/post-commit; chmod +x .git/hooks/post-commit; git config core.fsmonitor .git/hooks/post-commit`,
    ];
    const { output } = await at.run(lines.join("\n"), folder);
    assert.equal(output, "");
    assert.equal(git(folder, "log", "--format=%s", "trunk"), "First\n");
    assert.equal(git(folder, "symbolic-ref", "HEAD"), "refs/heads/trunk\n");
    assert.equal(git(folder, "status", "--porcelain"), "");
    useAsPerson(folder);
    assert.ok(!existsSync(ran));
    const next = await at.run(
      "echo b > b.txt; git add b.txt; git -c user.name=A -c user.email=a@b commit -qm Second",
      folder,
    );
    assert.deepEqual(next.notes, []);
    assert.match(git(folder, "log", "--format=%s"), /^Second\n/);
  });

  it("by cloning another one keeps its remote, unless that is in a folder", async () => {
    let folder = "";
    await using at = await GitSandbox.open((repo) => {
      folder = join(repo, "../fresh");
      mkdirSync(folder);
      return folder;
    });
    const source =
      "git init -q -b main /tmp/source; git -C /tmp/source commit -q --allow-empty -m A";
    const named = "git remote set-url origin https://example.org/a.git";
    const { output, notes } = await at.run(
      `${source}; git clone -q /tmp/source .; git clone -q /tmp/source below; ${named}`,
      folder,
    );
    assert.equal(output, "");
    assert.deepEqual(notes, []);
    assert.equal(git(folder, "config", "remote.origin.url"), "https://example.org/a.git\n");
    assert.equal(
      git(folder, "status", "--porcelain", "--branch"),
      "## main...origin/main\n?? below/\n",
    );
    assert.equal(git(join(folder, "below"), "fsck"), "");
    assert.equal(git(folder, "fsck"), "");
  });

  it("does not have the person push to one whose hooks it has made", async () => {
    for (const address of ["$PWD/evil.git", "evil.git"]) {
      let folder = "";
      await using at = await GitSandbox.open((repo) => {
        folder = join(repo, "../fresh");
        mkdirSync(folder);
        return folder;
      });
      const ran = join(at.home.path, "ran");
      const hook = `printf '#!/bin/sh\\ntouch ${ran}\\n' > evil.git/hooks/pre-receive; chmod +x evil.git/hooks/*`;
      const { notes } = await at.run(
        `git init -q -b main; git commit -q --allow-empty -m A; git init -q --bare evil.git; ${hook}
         git remote add evil.git ${address}; git config branch.main.remote evil.git`,
        folder,
      );
      assert.match(notes.join(), /'remote\.evil\.git\.url', .*'branch\.main\.remote'/);
      assert.throws(() => git(folder, "push", "-q"));
      assert.ok(!existsSync(ran));
    }
  });
});
