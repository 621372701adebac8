import assert from "node:assert/strict";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";

import { SampleRepository } from "../../test/samples/sample-repository.ts";
import { type LandOptions, landWorktree } from "./land.ts";
import { folderOf, readRecord, Worktrees } from "./worktrees.ts";

const LINES = Array.from({ length: 20 }, (_, at) => `line ${at}\n`);

/** A repository with two sessions that work in it. */
async function setUp() {
  const repository = new SampleRepository();
  repository.write(".gitconfig", "[user]\n\tname = Ada\n\temail = ada@example.org\n");
  repository.write("app/a.txt", LINES.join(""));
  repository.run("add", ".");
  repository.commit();
  const data = join(repository.home, "data");
  const worktrees = new Worktrees({ data, env: repository.env, carry: [] });
  const begin = async (session: string) => {
    const place = await worktrees.create(session, repository.path, {});
    return {
      place,
      /** Changes one line of the same file. */
      change: (line: number, text: string) => {
        const file = join(place.tree, "a.txt");
        const lines = readFileSync(file, "utf8").split("\n");
        lines[line] = text;
        writeFileSync(file, lines.join("\n"));
      },
      commit: (message: string) =>
        repository.runIn(place.tree, "commit", "-q", "-a", "--allow-empty", "-m", message),
      land: async (options: Partial<LandOptions> = {}) => {
        const { programs } = (await readRecord(folderOf(data, session))) ?? {};
        const allow = async (): Promise<boolean> => false;
        const usual = {
          how: "merge",
          env: repository.env,
          title: "Work",
          programs,
          allow,
        } as const;
        return await landWorktree(place, { ...usual, ...options });
      },
    };
  };
  return {
    repository,
    begin,
    one: await begin("11111111-0000-4000-8000-000000000000"),
    two: await begin("22222222-0000-4000-8000-000000000000"),
    file: () => readFileSync(join(repository.path, "a.txt"), "utf8"),
    subjects: () => repository.run("log", "--format=%s", "--first-parent").split("\n"),
    [Symbol.dispose]: () => repository[Symbol.dispose](),
  };
}

describe("landing", () => {
  it("merges two sessions that have changed the same file, with their uncommitted files", async () => {
    using it = await setUp();
    it.one.change(2, "by one");
    it.two.change(17, "by two");
    const first = await it.two.land();
    assert.deepEqual([first.how, first.into, first.committed], ["fast-forward", "main", true]);
    const second = await it.one.land();
    assert.equal(second.how, "merge");
    assert.match(it.file(), /by one[^]*by two/);
    assert.equal(it.repository.run("status", "--porcelain"), "");
    // The session goes on from what has landed, and can land again.
    it.one.change(5, "again");
    assert.equal((await it.one.land()).how, "fast-forward");
    assert.equal((await it.one.land()).how, "nothing");
    assert.match(it.file(), /again[^]*by two/);
  });

  it("says which files conflict, changes nothing, and lands once that is resolved", async () => {
    using it = await setUp();
    it.one.change(2, "by one");
    it.two.change(2, "by two");
    await it.one.land();
    const before = it.repository.run("rev-parse", "main");
    await assert.rejects(it.two.land(), (error: Error) => {
      assert.match(error.message, /conflicts with 'main' in: a.txt. Nothing was changed/);
      assert.match(error.message, /run `git merge main`, resolve them, commit, and land again/);
      return true;
    });
    assert.equal(it.repository.run("rev-parse", "main"), before);
    const { tree } = it.two.place;
    assert.throws(() => it.repository.runIn(tree, "merge", "main"));
    await assert.rejects(it.two.land(), /have conflicts: a.txt. Resolve and commit them first/);
    it.repository.runIn(tree, "checkout", "-q", "--ours", "a.txt");
    it.repository.runIn(tree, "commit", "-q", "-a", "-m", "Both");
    assert.equal((await it.two.land()).how, "fast-forward");
    assert.match(it.file(), /by two/);
  });

  it("adds one commit with --squash, keeps the single ones, and goes on from it", async () => {
    using it = await setUp();
    it.one.change(2, "a");
    it.one.commit("Step one");
    it.one.change(3, "b");
    it.one.commit("Step two");
    assert.equal((await it.one.land({ how: "squash" })).how, "squash");
    assert.deepEqual(it.subjects(), ["Work", "First"]);
    const kept = it.repository.run(
      "for-each-ref",
      "refs/trunkline/squashed",
      "--format=%(subject)",
    );
    assert.equal(kept, "Step two");
    it.one.change(4, "c");
    assert.equal((await it.one.land({ how: "squash", title: "More" })).how, "squash");
    assert.deepEqual(it.subjects(), ["More", "Work", "First"]);
  });

  it("leaves a branch, and moves one only forward", async () => {
    using it = await setUp();
    it.one.change(2, "a");
    const { how, commit } = await it.one.land({ how: "branch", into: "feature/a" });
    assert.equal(how, "branch");
    assert.equal(it.repository.run("rev-parse", "feature/a"), commit);
    it.two.change(2, "b");
    const refused = it.two.land({ how: "branch", into: "feature/a" });
    await assert.rejects(refused, /'feature\/a' has commits that the session does not have/);
    assert.equal(it.repository.run("rev-parse", "feature/a"), commit);
    await assert.rejects(it.two.land({ how: "branch", into: "a b" }), /no name for a branch/);
  });

  it("does not touch uncommitted changes where the branch is checked out", async () => {
    using it = await setUp();
    it.repository.write("app/a.txt", "mine");
    it.repository.write("app/other.txt", "mine too");
    it.one.change(2, "a");
    await assert.rejects(it.one.land(), /uncommitted changes are in the way: a.txt. Nothing was/);
    assert.equal(it.file(), "mine");
    it.repository.run("checkout", "-q", "a.txt");
    await it.one.land();
    assert.equal(readFileSync(join(it.repository.path, "other.txt"), "utf8"), "mine too");
  });

  it("lands into a branch that is checked out nowhere, and not into one that is being rebased", async () => {
    using it = await setUp();
    it.repository.run("branch", "later");
    it.one.change(2, "a");
    await it.one.land({ into: "later" });
    assert.equal(it.repository.run("status", "--porcelain"), "");
    assert.match(it.repository.run("cat-file", "blob", "later:a.txt"), /^a$/m);
    it.repository.run("checkout", "-q", "-b", "moving");
    const edit = { GIT_SEQUENCE_EDITOR: "sed -i 1ibreak" };
    it.repository.runWith(it.repository.path, edit, "rebase", "-q", "-i", "--root");
    it.two.change(3, "b");
    await assert.rejects(it.two.land({ into: "moving" }), /a rebase of 'moving' is in progress/);
    await assert.rejects(it.two.land({ into: "nowhere" }), /there is no branch 'nowhere'/);
  });

  it("does not make a submodule of a repository that the session has made", async () => {
    using it = await setUp();
    const inner = join(it.one.place.tree, "inner");
    mkdirSync(inner);
    it.repository.runIn(inner, "init", "-q");
    it.repository.runIn(inner, "commit", "-q", "--allow-empty", "-m", "Inner");
    await assert.rejects(it.one.land(), /it has made a repository in 'inner'/);
    assert.equal(it.repository.runIn(it.one.place.tree, "ls-files", "-s", "inner"), "");
    it.repository.write("app/.git/info/exclude", "/inner\n");
    it.one.change(2, "a");
    assert.equal((await it.one.land()).how, "fast-forward");
  });

  it("keeps what a hook does not let it commit, and says where", async () => {
    using it = await setUp();
    it.repository.hook("pre-commit", "echo 'too long' >&2; exit 1");
    it.one.change(2, "a");
    const allow = async (): Promise<boolean> => true;
    await assert.rejects(it.one.land({ allow }), (error: Error) => {
      assert.match(error.message, /too long.*They are kept in refs\/trunkline\/wip\/trunkline\/1/s);
      return true;
    });
    const [ref = ""] = it.repository
      .run("for-each-ref", "refs/trunkline", "--format=%(refname)")
      .split("\n");
    assert.match(it.repository.run("cat-file", "blob", `${ref}:a.txt`), /^a$/m);
  });

  it("runs hooks as they were before the session, and asks about those that it has changed", async () => {
    using it = await setUp();
    const { repository } = it;
    const mark = join(repository.home, "ran");
    const hook = (tree: string, name: string, line: string): void => {
      mkdirSync(join(tree, ".husky"), { recursive: true });
      writeFileSync(join(tree, ".husky", name), `#!/bin/sh\n${line}\n`, { mode: 0o755 });
    };
    hook(repository.path, "pre-commit", `. "$(dirname "$0")/more"`);
    hook(repository.path, "more", `echo before >> '${mark}'`);
    repository.run("add", ".");
    repository.run("commit", "-q", "-m", "Hooks");
    repository.run("config", "core.hooksPath", ".husky");
    const session = await it.begin("33333333-0000-4000-8000-000000000000");
    const { tree } = session.place;
    session.change(2, "a");
    await session.land();
    assert.equal(readFileSync(mark, "utf8"), "before\n", "it is as it was");
    for (const [name, found] of [
      ["pre-commit", "hook pre-commit"],
      ["post-merge", "hook post-merge"],
      ["more", "hook pre-commit"],
    ] as const) {
      hook(tree, name, `echo planted >> '${mark}'`);
      session.change(3, name);
      const asked: string[] = [];
      const allow: LandOptions["allow"] = async (changed) => {
        asked.push(...changed.map((program) => `${program.name} in ${program.command}`));
        return false;
      };
      await assert.rejects(
        session.land({ allow }),
        /programs that git runs have changed since it began/,
      );
      assert.ok(
        asked.some((program) => program.startsWith(`${found} in .husky/`)),
        asked.join(),
      );
      assert.equal(readFileSync(mark, "utf8"), "before\n");
    }
    await session.land({ allow: async () => true });
    assert.match(readFileSync(mark, "utf8"), /planted/);
  });

  it("asks about a filter or merge driver of the repository whose script the session has changed", async () => {
    using it = await setUp();
    const { repository } = it;
    const mark = join(repository.home, "ran");
    writeFileSync(join(repository.path, "tidy.sh"), "cat\n");
    writeFileSync(join(repository.path, ".gitattributes"), "*.txt filter=tidy merge=ours\n");
    repository.run("add", ".");
    repository.run("commit", "-q", "-m", "Filter");
    repository.run("config", "filter.tidy.clean", "sh ./tidy.sh");
    repository.run("config", "merge.ours.driver", "sh tidy.sh %A");
    const session = await it.begin("33333333-0000-4000-8000-000000000000");
    session.change(2, "a");
    await session.land();
    writeFileSync(join(session.place.tree, "tidy.sh"), `touch '${mark}'; cat\n`);
    session.change(3, "b");
    await assert.rejects(session.land(), /filter tidy \(sh \.\/tidy\.sh\), merge driver ours/);
  });

  it("merges again if somebody else has moved the branch meanwhile", async () => {
    using it = await setUp();
    it.one.change(2, "by one");
    it.two.change(17, "by two");
    const landed = await Promise.all([it.one.land(), it.two.land()]);
    assert.ok(landed.every(({ how }) => how !== "nothing"));
    assert.match(it.file(), /by one[^]*by two/);
    assert.equal(it.repository.run("status", "--porcelain"), "");
  });
});
