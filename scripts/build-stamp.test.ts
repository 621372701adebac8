import assert from "node:assert/strict";
import { mkdirSync, utimesSync, writeFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";

interface Stamps {
  readonly isBuilt: (root: string) => boolean;
  readonly noteBuild: (root: string) => void;
}

// Plain JavaScript, which has no types.
const { isBuilt, noteBuild } = (await import(
  new URL("build-stamp.mjs", import.meta.url).href
)) as Stamps;

/** A project that has just been built. */
async function built() {
  const root = await mkdtemp(join(tmpdir(), "build-stamp-"));
  for (const folder of ["src/deep", "scripts", "dist"])
    mkdirSync(join(root, folder), { recursive: true });
  for (const file of ["src/deep/a.ts", "scripts/b.ts", "package.json", "package-lock.json"]) {
    writeFileSync(join(root, file), "1");
  }
  writeFileSync(join(root, "dist/trunkline.js"), "1");
  noteBuild(`${root}/`);
  return { root: `${root}/`, [Symbol.asyncDispose]: () => rm(root, { recursive: true }) };
}

describe("isBuilt()", () => {
  it("is true as long as nothing changes", async () => {
    await using it = await built();
    assert.equal(isBuilt(it.root), true);
    writeFileSync(join(it.root, "src/deep/a.test.ts"), "a test is not a part of the program");
    assert.equal(isBuilt(it.root), true);
  });

  for (const file of ["src/deep/a.ts", "scripts/b.ts", "package-lock.json", "src/new.ts"]) {
    it(`is false once ${file} changes`, async () => {
      await using it = await built();
      writeFileSync(join(it.root, file), "22");
      assert.equal(isBuilt(it.root), false);
    });
  }

  it("is false once a file is put in that has the same size", async () => {
    await using it = await built();
    utimesSync(join(it.root, "src/deep/a.ts"), 1, 1);
    assert.equal(isBuilt(it.root), false);
  });

  it("is false where what was built is gone, or nothing was ever built", async () => {
    await using it = await built();
    await rm(join(it.root, "dist/trunkline.js"));
    assert.equal(isBuilt(it.root), false);
    await rm(join(it.root, ".cache"), { recursive: true });
    assert.equal(isBuilt(it.root), false);
  });
});
