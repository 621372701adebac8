import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempDisposableSync, realpathSync, renameSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";

import { KnownRepositories } from "./known-repositories.ts";
import { findRepository } from "./repository.ts";

function setUp() {
  const folder = mkdtempDisposableSync(join(tmpdir(), "trunkline-known-"));
  const root = join(realpathSync(folder.path), "repository");
  execFileSync("git", ["init", "--quiet", root]);
  return { root, known: new KnownRepositories(), [Symbol.dispose]: () => folder.remove() };
}

/** Whatever has happened to a folder, the answer is that of a new search. */
function check({ find }: KnownRepositories, folder: string): void {
  for (let n = 0; n < 3; n++) assert.deepEqual(find(folder), findRepository(folder));
}

test("a repository that is remembered is forgotten when it is another one, or none", async (t) => {
  using it = setUp();
  // Later, so that its times count as certain.
  const now = Date.now();
  t.mock.method(Date, "now", () => now + 60_000);
  check(it.known, it.root);
  const first = it.known.find(it.root);
  assert.equal(it.known.find(it.root), first, "it is the same object");
  const git = join(it.root, ".git");
  renameSync(join(git, "HEAD"), join(git, "HEAD.old"));
  check(it.known, it.root);
  assert.notEqual(it.known.find(it.root), first);
  renameSync(join(git, "HEAD.old"), join(git, "HEAD"));
  check(it.known, it.root);
  rmSync(git, { recursive: true });
  check(it.known, it.root);
  execFileSync("git", ["init", "--quiet", it.root]);
  check(it.known, it.root);
});

test("a repository whose folder has just changed is not remembered", async () => {
  using it = setUp();
  assert.notEqual(it.known.find(it.root), it.known.find(it.root));
  check(it.known, it.root);
});

test("a folder below a repository is looked for each time: it may become a repository", async (t) => {
  using it = setUp();
  const now = Date.now();
  t.mock.method(Date, "now", () => now + 60_000);
  const below = join(it.root, "below");
  mkdirSync(below);
  check(it.known, below);
  execFileSync("git", ["init", "--quiet", below]);
  check(it.known, below);
  assert.equal(it.known.find(below)?.root, below);
});
