import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";

import { workspaceFiles } from "./run.ts";

async function open() {
  const folder = await mkdtemp(join(tmpdir(), "workspace-files-"));
  const tree = join(folder, "tree");
  mkdirSync(join(tree, "sub"), { recursive: true });
  writeFileSync(join(tree, "sub/file"), "one\ntwo\nthree\n");
  writeFileSync(join(folder, "secret"), "secret");
  return {
    folder,
    tree,
    files: workspaceFiles(tree, undefined),
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true }),
  };
}

describe("WorkspaceFiles", () => {
  it("reads a file, or some of its lines", async () => {
    await using rig = await open();
    const path = join(rig.tree, "sub/file");
    assert.equal(await rig.files.readTextFile(path), "one\ntwo\nthree\n");
    assert.equal(await rig.files.readTextFile(path, { line: 2, limit: 1 }), "two\n");
  });

  it("writes a file, and creates its folders", async () => {
    await using rig = await open();
    await rig.files.writeTextFile(join(rig.tree, "a/b/c"), "new");
    assert.equal(readFileSync(join(rig.tree, "a/b/c"), "utf8"), "new");
    await rig.files.writeTextFile(join(rig.tree, "sub/file"), "x");
    assert.equal(readFileSync(join(rig.tree, "sub/file"), "utf8"), "x");
  });

  it("follows no link, neither to a file nor to a folder", async () => {
    await using rig = await open();
    symlinkSync(join(rig.folder, "secret"), join(rig.tree, "link"));
    symlinkSync(rig.folder, join(rig.tree, "folder"));
    await assert.rejects(rig.files.readTextFile(join(rig.tree, "link")), /it is a link/);
    await assert.rejects(rig.files.writeTextFile(join(rig.tree, "link"), "x"), /not followed/);
    await assert.rejects(rig.files.readTextFile(join(rig.tree, "folder/secret")));
    await assert.rejects(rig.files.writeTextFile(join(rig.tree, "folder/new"), "x"));
    assert.equal(readFileSync(join(rig.folder, "secret"), "utf8"), "secret");
    assert.ok(!existsSync(join(rig.folder, "new")));
  });

  it("refuses files outside of the workspace, and git's own files", async () => {
    await using rig = await open();
    for (const path of ["../secret", ".git/config", "sub/.GIT/hooks/x", "sub/..", "."]) {
      await assert.rejects(rig.files.writeTextFile(join(rig.tree, path), "x"), path);
    }
    assert.equal(readFileSync(join(rig.folder, "secret"), "utf8"), "secret");
  });

  it("does not block on a pipe", async () => {
    await using rig = await open();
    execFileSync("mkfifo", [join(rig.tree, "pipe")]);
    await assert.rejects(rig.files.readTextFile(join(rig.tree, "pipe")), /not a regular file/);
    await assert.rejects(rig.files.writeTextFile(join(rig.tree, "pipe"), "x"));
  });

  it("reports a missing file", async () => {
    await using rig = await open();
    await assert.rejects(rig.files.readTextFile(join(rig.tree, "none")), /There is no file/);
  });
});
