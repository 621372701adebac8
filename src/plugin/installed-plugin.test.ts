import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { chmod, mkdir, mkdtemp, realpath, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { describe, it } from "node:test";

import { findPlugin } from "./installed-plugin.ts";

const NODE = process.execPath;

async function folder(files: Readonly<Record<string, string>>) {
  const path = await realpath(await mkdtemp(join(tmpdir(), "trunkline-plugin-")));
  for (const [name, text] of Object.entries(files)) {
    await mkdir(dirname(join(path, name)), { recursive: true });
    await writeFile(join(path, name), text);
  }
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true }) };
}

describe("findPlugin()", () => {
  it("finds a script, a program and a folder", async () => {
    await using at = await folder({ "a.mjs": "", b: "", "new/plugin.ts": "" });
    await chmod(join(at.path, "b"), 0o755);
    const [script, program] = [join(at.path, "a.mjs"), join(at.path, "b")];
    const here = { folder: at.path };
    const asScript = { command: NODE, args: [script], file: script, ...here };
    assert.deepEqual(findPlugin("./a.mjs", at.path), asScript);
    const asProgram = { command: program, args: [], file: program, ...here };
    assert.deepEqual(findPlugin("b", at.path), asProgram);
    const file = join(at.path, "new/plugin.ts");
    const inFolder = { command: NODE, args: [file], file, folder: join(at.path, "new") };
    assert.deepEqual(findPlugin("new", at.path), inFolder);
  });

  it("finds an installed package by its `trunkline` field or its only `bin`", async () => {
    await using at = await folder({
      "node_modules/one/package.json": '{ "trunkline": "./p.mjs", "bin": "./cli.mjs" }',
      "node_modules/one/p.mjs": "",
      "node_modules/@team/two/package.json": '{ "bin": { "two": "two.js" } }',
      "node_modules/@team/two/two.js": "",
      "node_modules/many/package.json": '{ "bin": { "a": "a.js", "b": "b.js" } }',
      "sub/x": "",
    });
    const inModules = (name: string): string => join(at.path, "node_modules", name);
    assert.equal(findPlugin("one", join(at.path, "sub")).file, inModules("one/p.mjs"));
    const { file, folder: package_ } = findPlugin("@team/two", at.path);
    assert.deepEqual([file, package_], [inModules("@team/two/two.js"), inModules("@team/two")]);
    assert.throws(() => findPlugin("many", at.path), /no `trunkline` or single `bin`/);
  });

  it("says what to do about one that is not there or cannot be run", async () => {
    await using at = await folder({ "text.txt": "" });
    assert.throws(
      () => findPlugin("nothing-here", at.path),
      /Install it first: `npm install nothing-here`\.$/,
    );
    assert.throws(() => findPlugin("./none.ts", at.path), /There is no such file\.$/);
    assert.throws(() => findPlugin("x/../../no-such-folder", at.path), { code: "not-found" });
    assert.throws(() => findPlugin("text.txt", at.path), /neither a script for Node nor a program/);
  });

  it("refuses a package whose program is elsewhere, or whose package.json is no file", async () => {
    await using at = await folder({
      "out/package.json": '{ "trunkline": "../elsewhere.mjs" }',
      "link/package.json": '{ "trunkline": "./p.mjs" }',
      "elsewhere.mjs": "",
      "pipe/plugin.ts": "",
      "null/package.json": "null",
    });
    await symlink(join(at.path, "elsewhere.mjs"), join(at.path, "link/p.mjs"));
    assert.throws(() => findPlugin("out", at.path), /its program '.*' is not in it\.$/);
    assert.throws(() => findPlugin("link", at.path), /its program '.*p\.mjs' is not in it\.$/);
    execFileSync("mkfifo", [join(at.path, "pipe/package.json")]);
    assert.throws(() => findPlugin("pipe", at.path), /cannot be read: it is not a regular file/);
    assert.throws(() => findPlugin("null", at.path), /no plugin\.ts/);
  });
});
