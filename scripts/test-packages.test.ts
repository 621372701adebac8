import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { describe, it } from "node:test";

const ROOT = join(import.meta.dirname, "..");

// Plain JavaScript for old Nodes, without types.
const { TEST_PACKAGES } = (await import(new URL("test-packages.mjs", import.meta.url).href)) as {
  readonly TEST_PACKAGES: readonly string[];
};
const { testFiles } = (await import(new URL("test-files.mjs", import.meta.url).href)) as {
  readonly testFiles: (root: string, kind?: string) => string[];
};

/** The texts of some files, and of all files of the project that they import. */
function textsOf(files: readonly string[]): string[] {
  const texts = new Map<string, string>();
  const left = [...files];
  for (let file = left.pop(); file !== undefined; file = left.pop()) {
    // Some tests have code in a text, which imports what is not there.
    if (texts.has(file) || !existsSync(file)) continue;
    const text = readFileSync(file, "utf8");
    texts.set(file, text);
    for (const [, path = ""] of text.matchAll(/^(?:import|\}|export) .*"(\.[^"]+\.ts)"/gm)) {
      left.push(resolve(file, "..", path));
    }
  }
  return [...texts.values()];
}

describe("TEST_PACKAGES", () => {
  it("are all that tests of `npm test` install, so that none of them does in its own time", () => {
    const all = [...testFiles(ROOT), ...testFiles(ROOT, "long")];
    const files = all.map((file) => join(ROOT, file));
    const folders = textsOf(files.filter((file) => file !== import.meta.filename)).flatMap((text) =>
      Array.from(text.matchAll(/new Packages\("([^"]+)"\)/g), ([, folder]) => folder),
    );
    assert.deepEqual(new Set(folders), new Set(TEST_PACKAGES));
  });
});
