import assert from "node:assert/strict";
import {
  mkdirSync,
  mkdtempDisposableSync,
  realpathSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";

import { Workspace } from "./workspace.ts";

const DENIED = { code: -31701 };

function rig(): Disposable & { root: string; work: string; other: string; workspace: Workspace } {
  const folder = mkdtempDisposableSync(join(tmpdir(), "trunkline-workspace-"));
  const root = realpathSync(folder.path);
  const work = join(root, "work");
  const other = join(root, "other");
  for (const each of [work, other, join(root, "workshop")]) mkdirSync(each);
  writeFileSync(join(work, "a.txt"), "a");
  writeFileSync(join(other, "secret.txt"), "s");
  return {
    root,
    work,
    other,
    workspace: new Workspace(work),
    [Symbol.dispose]: () => folder.remove(),
  };
}

describe("Workspace.find()", () => {
  it("finds existing files, and paths of files that do not exist yet", async () => {
    using at = rig();
    const found = await at.workspace.find("a.txt");
    assert.deepEqual(found, { path: `${at.work}/a.txt`, real: `${at.work}/a.txt`, name: "a.txt" });
    const unborn = await at.workspace.find("new/folder/b.txt");
    assert.equal(unborn.real, `${at.work}/new/folder/b.txt`);
    assert.equal((await at.workspace.find(`${at.work}/x/../a.txt`)).name, "a.txt");
  });

  it("refuses paths outside", async () => {
    using at = rig();
    const paths = ["../other/secret.txt", `${at.other}/secret.txt`, "/etc/passwd", "x/../../other"];
    const near = [`${at.work}shop/x`, "../workshop/x", "~/x", "~", "a\0b", "/"];
    for (const path of [...paths, ...near]) {
      await assert.rejects(at.workspace.find(path), DENIED, JSON.stringify(path));
    }
  });

  it("refuses links that lead outside, to existing files and to missing ones", async () => {
    using at = rig();
    symlinkSync(at.other, join(at.work, "folder"));
    symlinkSync(join(at.other, "secret.txt"), join(at.work, "file"));
    symlinkSync(join(at.other, "unborn.txt"), join(at.work, "dangling"));
    symlinkSync("../other", join(at.work, "relative"));
    symlinkSync("folder", join(at.work, "chained"));
    const paths = [
      "folder/secret.txt",
      "file",
      "dangling",
      "folder/new.txt",
      "relative/new/x",
      "chained/x",
    ];
    for (const path of paths) await assert.rejects(at.workspace.find(path), DENIED, path);
  });

  it("refuses what belongs to Trunkline itself, except where it is to work", async () => {
    using at = rig();
    const data = join(at.work, "data");
    const tree = join(data, "tree");
    mkdirSync(tree, { recursive: true });
    symlinkSync("data", join(at.work, "link"));
    const own = [data, join(at.work, "unborn.jsonc")];
    const workspace = new Workspace(at.work, [], own);
    for (const path of ["data", "data/new", "data/tree/x", "link/x", "unborn.jsonc"]) {
      await assert.rejects(workspace.find(path), DENIED, path);
    }
    assert.equal((await workspace.find("database")).name, "database");
    for (const roots of [[at.work, tree], [tree]]) {
      const [cwd = "", ...more] = roots;
      const inside = new Workspace(cwd, more, own);
      assert.equal((await inside.find(join(tree, "x"))).path, join(tree, "x"));
      await assert.rejects(inside.find(join(data, "x")), DENIED);
    }
    assert.equal((await new Workspace(data, [], own).find("x")).name, "x");
  });

  it("refuses circular links", async () => {
    using at = rig();
    symlinkSync("two", join(at.work, "one"));
    symlinkSync("one", join(at.work, "two"));
    await assert.rejects(at.workspace.find("one/x"), DENIED);
  });

  it("follows links that stay inside, and a workspace that is itself a link", async () => {
    using at = rig();
    symlinkSync("a.txt", join(at.work, "link"));
    assert.equal((await at.workspace.find("link")).real, `${at.work}/a.txt`);
    const alias = join(at.root, "alias");
    symlinkSync(at.work, alias);
    const found = await new Workspace(alias).find("a.txt");
    assert.deepEqual(found, { path: `${alias}/a.txt`, real: `${at.work}/a.txt`, name: "a.txt" });
  });

  it("includes the additional folders of a workspace", async () => {
    using at = rig();
    const workspace = new Workspace(at.work, [at.other]);
    const found = await workspace.find(`${at.other}/secret.txt`);
    assert.equal(found.name, `${at.other}/secret.txt`);
  });
});

describe("Workspace.findToWrite()", () => {
  it("refuses git's own files", async () => {
    using at = rig();
    mkdirSync(join(at.work, ".git/hooks"), { recursive: true });
    symlinkSync(".git/hooks", join(at.work, "hooks"));
    for (const path of [
      ".git/hooks/pre-commit",
      "hooks/pre-commit",
      "sub/.git/config",
      ".GIT/config",
    ]) {
      await assert.rejects(at.workspace.findToWrite(path), DENIED, path);
    }
    assert.equal((await at.workspace.findToWrite(".gitignore")).name, ".gitignore");
  });
});
