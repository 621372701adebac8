import assert from "node:assert/strict";
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";

import { SampleRepository } from "../../test/samples/sample-repository.ts";
import { Worktrees } from "./worktrees.ts";

const ONE = "11111111-0000-4000-8000-000000000000";
const BRANCH = "trunkline/11111111";

async function setUp(request: object = {}) {
  const repository = new SampleRepository();
  repository.write("app/a.txt", "one\n");
  repository.write(".gitconfig", "[user]\n\tname = Ada\n\temail = ada@example.org\n");
  repository.run("add", ".");
  repository.commit();
  const data = join(repository.home, "data");
  const worktrees = new Worktrees({ data, env: repository.env, carry: [] });
  const { tree } = await worktrees.create(ONE, repository.path, request);
  return {
    repository,
    tree,
    worktrees,
    inTree: (...args: string[]) => repository.runIn(tree, ...args),
    change: (name: string, text: string) => writeFileSync(join(tree, name), text),
    read: (path: string) => repository.run("cat-file", "blob", path),
    branches: () => repository.run("for-each-ref", "--format=%(refname:short)").split("\n"),
    [Symbol.dispose]: () => repository[Symbol.dispose](),
  };
}

describe("removing a work tree", () => {
  it("leaves nothing of one in which nothing was done", async () => {
    using it = await setUp();
    assert.deepEqual(await it.worktrees.remove(ONE), { kept: undefined });
    assert.deepEqual(it.branches(), ["main"]);
    assert.equal(existsSync(it.tree), false);
    assert.doesNotMatch(it.repository.run("worktree", "list"), /data/);
    assert.deepEqual(await it.worktrees.remove(ONE), { kept: undefined });
  });

  it("keeps uncommitted and untracked files on the session's branch", async () => {
    using it = await setUp();
    it.change("a.txt", "two\n");
    it.change("new.txt", "new\n");
    assert.deepEqual(await it.worktrees.remove(ONE), { kept: BRANCH });
    assert.equal(it.read(`${BRANCH}:a.txt`), "two");
    assert.equal(it.read(`${BRANCH}:new.txt`), "new");
    assert.equal(existsSync(it.tree), false);
  });

  it("keeps commits of a detached HEAD on a branch of their own", async () => {
    using it = await setUp();
    it.inTree("checkout", "-q", "--detach");
    it.inTree("commit", "-q", "--allow-empty", "-m", "Detached");
    it.change("new.txt", "new\n");
    assert.deepEqual(await it.worktrees.remove(ONE), { kept: `${BRANCH}-saved` });
    assert.equal(it.read(`${BRANCH}-saved:new.txt`), "new");
    assert.equal(it.repository.run("log", "-1", "--format=%s", `${BRANCH}-saved~`), "Detached");
  });

  it("keeps files of a branch that has no commit yet", async () => {
    using it = await setUp();
    it.inTree("checkout", "-q", "--orphan", "fresh");
    assert.deepEqual(await it.worktrees.remove(ONE), { kept: `${BRANCH}-saved` });
    assert.equal(it.read(`${BRANCH}-saved:a.txt`), "one");
  });

  it("deletes the branch once the branch that it started from has everything", async () => {
    using it = await setUp();
    it.inTree("commit", "-q", "--allow-empty", "-m", "Work");
    it.repository.run("merge", "-q", BRANCH);
    assert.deepEqual(await it.worktrees.remove(ONE), { kept: undefined });
    assert.deepEqual(it.branches(), ["main"]);
  });

  it("never deletes a branch that it has not created", async () => {
    using first = await setUp();
    first.repository.run("branch", "mine");
    const two = "22222222-0000-4000-8000-000000000000";
    await first.worktrees.create(two, first.repository.path, { branch: "mine" });
    assert.deepEqual(await first.worktrees.remove(two), { kept: "mine" });
  });

  it("does not remove a repository inside of the work tree, whose commits nobody else has", async () => {
    using it = await setUp();
    it.inTree("init", "-q", "inner");
    it.repository.commit(join(it.tree, "inner"));
    await assert.rejects(it.worktrees.remove(ONE), /contains other repositories \(inner\)/);
    assert.equal(existsSync(join(it.tree, "inner/.git")), true);
  });

  it("keeps the folder if its repository is gone", async () => {
    using it = await setUp();
    it.repository.run("worktree", "move", it.tree, `${it.tree}-2`);
    it.repository.run("worktree", "move", `${it.tree}-2`, it.tree);
    const { rmSync } = await import("node:fs");
    rmSync(it.repository.path, { recursive: true });
    await assert.rejects(it.worktrees.remove(ONE), /its repository '.*app' is gone/);
    assert.equal(existsSync(join(it.tree, "a.txt")), true);
  });
});
