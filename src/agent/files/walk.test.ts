import assert from "node:assert/strict";
import { mkdirSync, mkdtempDisposableSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { describe, it } from "node:test";

import { walk, type WalkOptions } from "./search-text.ts";

function folderWith(...names: string[]) {
  const folder = mkdtempDisposableSync(join(tmpdir(), "trunkline-walk-"));
  for (const name of names) {
    mkdirSync(dirname(join(folder.path, name)), { recursive: true });
    writeFileSync(join(folder.path, name), "");
  }
  return folder;
}

const walked = (folder: { path: string }, options: Partial<WalkOptions> = {}) =>
  walk(folder.path, { depth: 9, most: 100, signal: new AbortController().signal, ...options });

describe("walk()", () => {
  it("marks folders with a slash, in order, and respects its depth limit", async () => {
    using folder = folderWith("b.ts", "a/deep/x.ts", "c");
    assert.deepEqual((await walked(folder, { depth: 1 })).names, ["a/", "b.ts", "c"]);
    assert.deepEqual((await walked(folder, { depth: 2 })).names, ["a/", "a/deep/", "b.ts", "c"]);
  });

  it("finds files by name in any folder, or by path, and never folders", async () => {
    using folder = folderWith("x.ts", "a/x.ts", "a/b/y.ts", "ts.ts/z");
    assert.deepEqual((await walked(folder, { pattern: "x.ts" })).names, ["a/x.ts", "x.ts"]);
    assert.deepEqual((await walked(folder, { pattern: "a/**/*.ts" })).names, [
      "a/b/y.ts",
      "a/x.ts",
    ]);
    assert.deepEqual((await walked(folder, { pattern: "ts.ts" })).names, []);
  });

  it("refuses a pattern that is none", async () => {
    using folder = folderWith("a");
    await assert.rejects(walked(folder, { pattern: "{a" }), /'\{a' is no pattern, or too long/);
  });

  it("lists dependency folders without entering them, and follows no link", async () => {
    using folder = folderWith("node_modules/m/x", ".git/HEAD", "own/x");
    symlinkSync("..", join(folder.path, "loop"));
    const { names, isCut } = await walked(folder);
    assert.deepEqual(names, [".git/", "loop", "node_modules/", "own/", "own/x"]);
    assert.equal(isCut, false);
  });

  it("reports that the list was cut, by its length or by the number of files visited", async () => {
    using folder = folderWith(...Array.from({ length: 30 }, (_, at) => `f${at}`));
    const found = await walked(folder, { most: 10 });
    assert.deepEqual([found.names.length, found.isCut], [10, true]);
    using wide = folderWith(...Array.from({ length: 150 }, (_, at) => `g${at}`));
    const searched = await walked(wide, { most: 1, pattern: "nothing" });
    assert.deepEqual(searched, { names: [], isCut: true });
  });

  it("ends when it is cancelled", async () => {
    using folder = folderWith("a");
    const controller = new AbortController();
    controller.abort(new Error("cancelled"));
    await assert.rejects(walked(folder, { signal: controller.signal }), /cancelled/);
  });
});
