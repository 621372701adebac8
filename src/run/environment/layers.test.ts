import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { layerKey } from "./layers.ts";
import type { Recipe } from "./recipe.ts";

const RECIPE: Recipe = {
  title: "setup",
  steps: [{ name: "setup", commands: [["/bin/sh", "-c", "./scripts/setup.sh --fast"]] }],
  env: {},
  secrets: [],
  keys: undefined,
  keep: [],
  allowHosts: [],
  timeout: 1,
  notes: [],
};
const FILES = new Map([
  ["package-lock.json", "1"],
  ["packages/a/Cargo.lock", "1"],
  ["requirements-dev.txt", "1"],
  ["scripts/setup.sh", "1"],
  [".gitignore", "1"],
  ["src/index.ts", "1"],
  ["docs/notes.sql", "1"],
]);

function key(changed: string, recipe: Partial<Recipe> = {}): string {
  return layerKey({ ...RECIPE, ...recipe }, new Map([...FILES, [changed, "2"]]), "machine");
}

const plain = layerKey(RECIPE, FILES, "machine");

describe("layerKey()", () => {
  it("depends on lock files in any folder, ignore files, and scripts that commands mention", () => {
    const counting = [...FILES.keys()].filter((path) => key(path) !== plain);
    assert.deepEqual(counting, [
      "package-lock.json",
      "packages/a/Cargo.lock",
      "requirements-dev.txt",
      "scripts/setup.sh",
      ".gitignore",
    ]);
  });

  it("depends on the configured files instead of lock files", () => {
    const recipe = { keys: ["src/*", "*.sql"] };
    const before = layerKey({ ...RECIPE, ...recipe }, FILES, "machine");
    const counting = [...FILES.keys()].filter((path) => key(path, recipe) !== before);
    const expected = ["scripts/setup.sh", ".gitignore", "src/index.ts", "docs/notes.sql"];
    assert.deepEqual(counting, expected);
  });

  it("depends on the commands, `keep` and the machine, but not on the timeout", () => {
    const steps = [{ name: "setup", commands: [["npm", "ci"]] }];
    const others: Partial<Recipe>[] = [{ steps }, { env: { A: "1" } }, { keep: ["venv"] }];
    for (const other of others) {
      assert.notEqual(layerKey({ ...RECIPE, ...other }, FILES, "machine"), plain);
    }
    assert.notEqual(layerKey(RECIPE, FILES, "another"), plain);
    assert.equal(layerKey({ ...RECIPE, timeout: 2, title: "x" }, FILES, "machine"), plain);
  });
});
