import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { storageFolder, storagePath } from "./storage.ts";

describe("storagePath()", () => {
  it("gives every spelling of a path the same name", () => {
    for (const path of ["a/b..c/d.md", "./a//b..c/./d.md/", "a/./b..c//d.md"]) {
      assert.equal(storagePath(path), "a/b..c/d.md");
    }
  });

  it("refuses paths that could lead out of the storage, and names the problem", () => {
    const problems: readonly (readonly [path: string, problem: RegExp])[] = [
      ["", /it is empty/],
      ["./.", /it names no document/],
      ["a/../../x.md", /'\.\.' could lead out/],
      ["/etc/passwd", /must be relative/],
      ["..\\x.md", /has a backslash/],
      ["a\0b", /control characters/],
      ["a\u009bb", /control characters/],
      ["a\ud800", /not valid Unicode/],
    ];
    for (const [path, problem] of problems) {
      assert.throws(() => storagePath(path), { code: "usage", message: problem });
    }
  });

  it("counts bytes: 4096 in all, and 240 in each segment", () => {
    const longest = Array<string>(17).fill("p".repeat(240)).join("/");
    assert.equal(storagePath(longest), longest);
    assert.throws(() => storagePath(`${longest}/`), /longer than 4096 bytes/);
    assert.equal(storagePath("é".repeat(120)), "é".repeat(120));
    assert.throws(() => storagePath("é".repeat(121)), /longer than 240 bytes/);
  });
});

describe("storageFolder()", () => {
  it("treats the empty text and a dot as the root folder", () => {
    assert.deepEqual(["", ".", "a/"].map(storageFolder), ["", "", "a"]);
    assert.throws(() => storageFolder(".."), /could lead out/);
  });
});
