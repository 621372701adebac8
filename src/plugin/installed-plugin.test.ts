import assert from "node:assert/strict";
import { chmod, mkdir, mkdtemp, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { describe, it } from "node:test";

import { askManifest, declaredPermissions, findPlugin } from "./installed-plugin.ts";

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
    assert.deepEqual(findPlugin("./a.mjs", at.path), {
      command: NODE,
      args: [join(at.path, "a.mjs")],
    });
    assert.deepEqual(findPlugin("b", at.path), { command: join(at.path, "b") });
    const args = [join(at.path, "new/plugin.ts")];
    assert.deepEqual(findPlugin("new", at.path), { command: NODE, args });
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
    const inModules = (file: string) => ({
      command: NODE,
      args: [join(at.path, "node_modules", file)],
    });
    assert.deepEqual(findPlugin("one", join(at.path, "sub")), inModules("one/p.mjs"));
    assert.deepEqual(findPlugin("@team/two", at.path), inModules("@team/two/two.js"));
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
});

describe("askManifest()", () => {
  it("reads the id from the manifest, or says that --id can give it", async () => {
    await using at = await folder({
      "good.mjs":
        'console.log(JSON.stringify({ id: process.argv.includes("--manifest") && "tools.x" }))',
      "loud.mjs": `console.log("hello");\nconsole.log('{"id":"tools.y"}')`,
      "bad.mjs": 'console.error("no such flag"); process.exit(2)',
      "lone.mjs": 'import "no-such-package"',
      "odd.mjs": 'console.log("hello")',
      "null.mjs": `console.log('{"id":"x","permissions":null}')`,
      "text.mjs": `console.log('{"id":"x","permissions":{"read":"/"}}')`,
      "tool.mjs": `console.log('{"id":"x","needs_tools":5}')`,
    });
    const program = (name: string) => ({ command: NODE, args: [join(at.path, name)] });
    assert.equal((await askManifest(program("good.mjs"))).id, "tools.x");
    assert.equal((await askManifest(program("loud.mjs"))).id, "tools.y");
    await assert.rejects(askManifest(program("bad.mjs")), /: no such flag\. If .* with --id\.$/);
    await assert.rejects(
      askManifest(program("lone.mjs")),
      /: Cannot find package 'no-such-package'.*\. Run `npm install` in its folder first\.$/,
    );
    for (const name of ["odd.mjs", "null.mjs", "text.mjs", "tool.mjs"]) {
      await assert.rejects(askManifest(program(name)), /has no id\. If .* with --id\.$/, name);
    }
  });
});

describe("declaredPermissions()", () => {
  it("are all that a plugin asks for, or none where it declares nothing", () => {
    assert.equal(declaredPermissions({ id: "a", needs_tools: ["b"] }), undefined);
    assert.deepEqual(declaredPermissions({ id: "a", permissions: { read: [], run: false } }), {});
    const permissions = { read: ["/r"], write: ["/w"], run: true };
    const asked = declaredPermissions({ id: "a", needs_tools: ["b"], permissions });
    assert.deepEqual(asked, { ...permissions, tools: ["b"] });
  });
});
