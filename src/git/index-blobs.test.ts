import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import {
  mkdtempDisposableSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";

import { IndexBlobs } from "./index-blobs.ts";

/** A repository whose files are older than its index, as git needs it to trust their times. */
function setUp(...options: string[]) {
  const folder = mkdtempDisposableSync(join(tmpdir(), "trunkline-index-"));
  const root = folder.path;
  const git = (...args: string[]): string =>
    execFileSync("git", ["-C", root, ...args], { encoding: "utf8" }).trim();
  git("init", "--quiet", ...options);
  const write = (path: string, text: string): void => {
    writeFileSync(join(root, path), text);
    const before = new Date(Date.now() - 60_000);
    utimesSync(join(root, path), before, before);
  };
  return {
    ...{ root, git, write },
    open: () => IndexBlobs.open(root, join(root, ".git")),
    [Symbol.dispose]: () => folder.remove(),
  };
}

test("IndexBlobs knows the blobs of files that have not changed since git read them", () => {
  using it = setUp();
  const long = `${"x".repeat(200)}/ä b.txt`;
  it.write("a.txt", "one\n");
  execFileSync("mkdir", [join(it.root, "x".repeat(200))]);
  it.write(long, "two\n");
  it.git("add", "--all");
  const index = it.open();
  assert.equal(index?.blobOf("a.txt"), it.git("hash-object", "a.txt"));
  assert.equal(index?.blobOf(long), it.git("hash-object", long));
  assert.equal(index?.blobOf("b.txt"), undefined);
});

test("IndexBlobs does not know a file that was changed, though it is as long and as old", () => {
  using it = setUp();
  it.write("a.txt", "one\n");
  it.git("add", "--all");
  const { mtime } = statSync(join(it.root, "a.txt"));
  writeFileSync(join(it.root, "a.txt"), "two\n");
  utimesSync(join(it.root, "a.txt"), mtime, mtime);
  assert.equal(it.open()?.blobOf("a.txt"), undefined);
  rmSync(join(it.root, "a.txt"));
  assert.equal(it.open()?.blobOf("a.txt"), undefined);
  symlinkSync("b.txt", join(it.root, "a.txt"));
  assert.equal(it.open()?.blobOf("a.txt"), undefined);
});

test("IndexBlobs does not trust a file that is as new as the index", () => {
  using it = setUp();
  it.write("a.txt", "one\n");
  it.git("add", "--all");
  const index = join(it.root, ".git/index");
  const before = new Date(Date.now() - 120_000);
  utimesSync(index, before, before);
  assert.equal(it.open()?.blobOf("a.txt"), undefined);
});

test("IndexBlobs does not read what it cannot: no index, another format, longer ids", () => {
  {
    using it = setUp();
    assert.equal(it.open(), undefined);
    it.write("a.txt", "one\n");
    it.git("add", "--all");
    writeFileSync(join(it.root, ".git/index"), "DIRC");
    assert.equal(it.open(), undefined);
  }
  using it = setUp("--object-format=sha256");
  it.write("a.txt", "one\n");
  it.write("b.txt", "one\n");
  it.git("add", "--all");
  assert.equal(it.open()?.blobOf("a.txt"), undefined);
});
