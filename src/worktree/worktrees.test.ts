import assert from "node:assert/strict";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";

import { SampleRepository } from "../../test/samples/sample-repository.ts";
import { Worktrees } from "./worktrees.ts";

const ONE = "11111111-0000-4000-8000-000000000000";

function setUp(carry: readonly string[] = []) {
  const repository = new SampleRepository();
  for (const [key, value] of [
    ["user.name", "Ada"],
    ["user.email", "ada@example.org"],
  ] as const) {
    repository.run("config", key, value);
  }
  repository.write("app/.gitignore", ".env*\nnode_modules\n");
  repository.write("app/src/a.txt", "one\n");
  repository.run("add", ".");
  repository.run("commit", "-q", "-m", "First");
  const data = join(repository.home, "data");
  const worktrees = new Worktrees({ data, env: repository.env, carry });
  return { repository, data, worktrees, [Symbol.dispose]: () => repository[Symbol.dispose]() };
}

describe("Worktrees", () => {
  it("creates a work tree with a branch that the repository shows", async () => {
    using it = setUp();
    const { repository, worktrees } = it;
    const place = await worktrees.create(ONE, join(repository.path, "src"), {});
    assert.equal(place.branch, "trunkline/11111111");
    assert.equal(place.base.branch, "main");
    assert.equal(place.folder, join(place.tree, "src"));
    assert.equal(readFileSync(join(place.folder, "a.txt"), "utf8"), "one\n");
    assert.match(repository.run("branch"), /trunkline\/11111111/);
    assert.deepEqual(place.warnings, []);
  });

  it("carries chosen ignored files, and those of .worktreeinclude, but no others", async () => {
    using it = setUp([".env"]);
    const { repository, worktrees } = it;
    repository.write("app/.env", "A=1");
    repository.write("app/.env.local", "B=1");
    repository.write("app/src/.env", "C=1");
    repository.write("app/node_modules/x/y", "z");
    repository.write("app/.worktreeinclude", "node_modules/\n*.txt\nnotes\n");
    // Ignored here, but not by the commit that the work tree begins with.
    repository.write("app/notes", "private");
    repository.write("app/.gitignore", ".env*\nnode_modules\nnotes\n");
    const { tree } = await worktrees.create(ONE, repository.path, {});
    const there = [".env", "src/.env", "node_modules/x/y", ".env.local", "notes"];
    const found = there.map((path) => existsSync(join(tree, path)));
    assert.deepEqual(found, [true, true, true, false, false]);
    assert.equal(repository.runIn(tree, "status", "--porcelain"), "");
  });

  it("says what is missing: uncommitted files, and submodules", async () => {
    using it = setUp();
    const { repository, worktrees } = it;
    repository.write("app/new.txt", "new");
    repository.write("app/.gitmodules", '[submodule "lib"]\n\tpath = lib\n\turl = ../lib\n');
    repository.run("add", ".gitmodules");
    const { warnings } = await worktrees.create(ONE, repository.path, {});
    assert.match(warnings.join("\n"), /^2 uncommitted files .* are not in/);
    assert.match(warnings.join("\n"), /Submodules are empty .*\(lib\)/);
  });

  it("refuses what cannot become a work tree, in words", async () => {
    using it = setUp();
    const { repository, worktrees, data } = it;
    const create = (request: object, cwd = repository.path) => worktrees.create(ONE, cwd, request);
    await assert.rejects(create({ branch: "main" }), /'main' is checked out in '.*app'/);
    await assert.rejects(create({ branch: "a..b" }), /'a..b' is no name for a branch/);
    await assert.rejects(create({ branch: "--force" }), /is no name for a branch/);
    await assert.rejects(create({ base: "nowhere" }), /no revision 'nowhere'/);
    await assert.rejects(create({ base: "--help" }), /no revision '--help'/);
    await assert.rejects(create({}, repository.home), /is not in a git repository/);
    const empty = join(repository.home, "empty");
    mkdirSync(empty);
    repository.runIn(empty, "init", "-q");
    await assert.rejects(create({}, empty), /has no commit yet/);
    assert.equal(existsSync(data), false);
  });

  it("gives a branch to one of two sessions that ask for it at once", async () => {
    using it = setUp();
    const { repository, worktrees } = it;
    repository.run("branch", "old");
    for (const branch of ["old", "new"]) {
      const sessions = [2, 3].map((digit) => ONE.replaceAll("1", String(digit)));
      const both = await Promise.allSettled(
        sessions.map((session) => worktrees.create(session, repository.path, { branch })),
      );
      const refused = both.filter((one) => one.status === "rejected");
      assert.equal(refused.length, 1);
      assert.match(String(refused[0]?.reason), /is checked out in/);
      const shown = repository.run("worktree", "list").split(`[${branch}]`);
      assert.equal(shown.length, 2, "one work tree has it");
      for (const session of sessions) await worktrees.remove(session);
    }
  });

  it("works with a bare repository", async () => {
    using it = setUp();
    const { repository, worktrees } = it;
    const bare = join(repository.home, "bare.git");
    repository.run("clone", "-q", "--bare", repository.path, bare);
    const place = await worktrees.create(ONE, bare, {});
    assert.equal(existsSync(join(place.tree, "src/a.txt")), true);
    assert.deepEqual([place.base.branch, place.folder], ["main", place.tree]);
    await worktrees.remove(ONE);
    assert.doesNotMatch(repository.runIn(bare, "branch"), /trunkline/);
  });

  it("works with a repository that is called as our own files beside the work tree", async () => {
    using it = setUp();
    const { repository, worktrees } = it;
    for (const [at, name] of ["worktree.json", "lock", "lock-journal", "a\nb "].entries()) {
      const named = join(repository.home, name);
      repository.runIn(repository.home, "clone", "--quiet", repository.path, named);
      const session = ONE.replaceAll("1", String(at + 2));
      const { tree } = await worktrees.create(session, named, {});
      assert.equal(readFileSync(join(tree, "src/a.txt"), "utf8"), "one\n");
      writeFileSync(join(tree, "new.txt"), "new");
      assert.equal((await worktrees.remove(session)).kept, `trunkline/${session.slice(0, 8)}`);
    }
  });

  it("runs no hook and no filter of the repository", async () => {
    using it = setUp();
    const { repository, worktrees } = it;
    const mark = join(repository.home, "ran");
    for (const hook of ["post-checkout", "reference-transaction", "post-index-change"]) {
      repository.hook(hook, `echo ${hook} >> '${mark}'`);
    }
    repository.write("app/.gitattributes", "*.txt filter=own\n");
    repository.run("add", ".gitattributes");
    repository.run("commit", "-q", "-m", "Attributes");
    repository.run("config", "filter.own.smudge", `tee -a '${mark}'`);
    repository.run("config", "filter.own.clean", `tee -a '${mark}'`);
    rmSync(mark, { force: true });
    const { tree } = await worktrees.create(ONE, repository.path, {});
    writeFileSync(join(tree, "src/a.txt"), "two\n");
    await worktrees.remove(ONE);
    assert.equal(existsSync(mark) ? readFileSync(mark, "utf8") : "", "");
  });

  it("runs the filters that the user has configured, such as Git LFS", async () => {
    using it = setUp();
    const { repository, worktrees } = it;
    // git-lfs is not installed here: a filter of the user's stands for it.
    repository.run("config", "--global", "filter.big.smudge", "tr a-z A-Z");
    repository.run("config", "--global", "filter.big.clean", "tr A-Z a-z");
    repository.write("app/.gitattributes", "*.bin filter=big\n");
    repository.write("app/a.bin", "BIG");
    repository.run("add", ".");
    repository.run("commit", "-q", "-m", "Big");
    const { tree, branch } = await worktrees.create(ONE, repository.path, {});
    assert.equal(readFileSync(join(tree, "a.bin"), "utf8"), "BIG");
    writeFileSync(join(tree, "a.bin"), "HUGE");
    assert.deepEqual(await worktrees.remove(ONE), { kept: branch });
    assert.equal(repository.run("cat-file", "blob", `${branch}:a.bin`), "huge");
  });

  it("creates the folder again from its branch if somebody has deleted it", async () => {
    using it = setUp();
    const { repository, worktrees } = it;
    const place = await worktrees.create(ONE, repository.path, {});
    writeFileSync(join(place.tree, "b.txt"), "b");
    repository.runIn(place.tree, "add", ".");
    repository.runIn(place.tree, "commit", "-q", "-m", "B");
    rmSync(join(it.data, "worktrees"), { recursive: true });
    await worktrees.open(ONE, place);
    assert.equal(readFileSync(join(place.tree, "b.txt"), "utf8"), "b");
    rmSync(place.tree, { recursive: true });
    const other = join(repository.home, "other");
    repository.run("worktree", "add", "--force", "--quiet", other, place.branch);
    await assert.rejects(worktrees.open(ONE, place), /is checked out in '.*other'/);
    rmSync(repository.path, { recursive: true });
    await assert.rejects(worktrees.open(ONE, place), /its repository '.*app' is gone/);
  });
});
