import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, rmSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";

import { ServerRepository } from "../../test/support/server-repository.ts";
import { DENIED_NAMES, scanChanges, type ScanLimits } from "./scan.ts";

const LIMITS: ScanLimits = { maxFile: 1_000, maxTotal: 1_500, maxFiles: 5, denied: DENIED_NAMES };

const scan = ({ git, tree }: ServerRepository, limits: Partial<ScanLimits> = {}) =>
  scanChanges(git, tree, { ...LIMITS, ...limits });

/** What is wrong with a file, if anything. */
async function problemOf(repository: ServerRepository, path: string): Promise<string | undefined> {
  const { problems } = await scan(repository);
  return problems.find((problem) => problem.path === path)?.why;
}

describe("scanChanges()", () => {
  it("lists what was added, changed and removed, and nothing that is ignored", async () => {
    using repository = new ServerRepository();
    repository.write("gone", "");
    repository.commit("More");
    rmSync(join(repository.tree, "gone"));
    repository.write("README.md", "changed");
    repository.write("with space", "new");
    repository.write(".gitignore", "*.log\n");
    repository.write("a.log", "noise");
    const { changed, problems } = await scan(repository);
    assert.deepEqual(changed.toSorted(), [".gitignore", "README.md", "gone", "with space"]);
    assert.deepEqual(problems, []);
  });

  it("refuses names that often hold secrets, in any folder and however they are spelt", async () => {
    using repository = new ServerRepository();
    mkdirSync(join(repository.tree, "deep"));
    for (const path of [".env.local", "deep/ID_RSA", "server.pem", "environment"]) {
      repository.write(path, "x");
    }
    const { problems } = await scan(repository);
    const names = problems.map(({ path }) => path).toSorted();
    assert.deepEqual(names, [".env.local", "deep/ID_RSA", "server.pem"]);
  });

  it("refuses text that looks like a secret, but not a pointer of Git LFS", async () => {
    using repository = new ServerRepository();
    repository.write("notes", `the key is AKIA${"A".repeat(16)}.`);
    assert.equal(await problemOf(repository, "notes"), "it seems to hold an AWS access key");
    repository.write("notes", `version https://git-lfs.github.com/spec/v1\nghp_${"a".repeat(36)}`);
    assert.equal(await problemOf(repository, "notes"), undefined);
  });

  it("refuses links out of the repository and into its .git, and takes others", async () => {
    using repository = new ServerRepository();
    const links = {
      out: "../../etc/passwd",
      absolute: "/etc",
      git: ".git/config",
      fine: "README.md",
    };
    for (const [name, to] of Object.entries(links)) symlinkSync(to, join(repository.tree, name));
    const { problems } = await scan(repository);
    assert.deepEqual(problems.map(({ path }) => path).toSorted(), ["absolute", "git", "out"]);
    assert.match(problems[0]?.why ?? "", /it is a link to '\/etc'/);
  });

  it("refuses a repository in the tree, of which git would commit only the name", async () => {
    using repository = new ServerRepository();
    execFileSync("git", ["init", "--quiet", "nested"], { cwd: repository.tree });
    assert.match((await problemOf(repository, "nested/")) ?? "", /repository of its own/);
  });

  it("refuses a file that is too large, too much in all, and too many files", async () => {
    using repository = new ServerRepository();
    repository.write("large", "x".repeat(1_001));
    assert.match(
      (await problemOf(repository, "large")) ?? "",
      /1001 bytes, over the limit of 1000/,
    );
    repository.write("large", "x".repeat(1_000));
    repository.write("more", "x".repeat(501));
    assert.match((await problemOf(repository, "more")) ?? "", /together are over 1500 bytes/);
    const { problems } = await scan(repository, { maxFiles: 1 });
    assert.match(problems[0]?.why ?? "", /one of 2 changed files, over the limit of 1/);
  });
});
