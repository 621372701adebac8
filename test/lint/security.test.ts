import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";

const ROOT = join(import.meta.dirname, "../..");
const DOCUMENT = readFileSync(join(ROOT, "docs/SECURITY.md"), "utf8");

/** The rows of the tables whose last column says which test shows it. */
const ROWS = DOCUMENT.split("\n\n")
  .filter((block) => /^\|.*\| shown by \|\n/.test(block))
  .flatMap((table) => table.split("\n").slice(2).filter(Boolean));

const NAMED = /`([^`]+\.ts)`: "([^"]+)"/g;
/** The names of tests and suites as they stand in a source; what is filled in becomes `…`. */
const TESTS = /\b(?:it|test|describe)\(\s*(?:"((?:[^"\\]|\\.)*)"|`((?:[^`\\]|\\.)*)`)/g;

describe("docs/SECURITY.md", () => {
  it("has a test for each defence", () => {
    assert.ok(ROWS.length > 40, `only ${ROWS.length} rows were found`);
    const without = ROWS.filter((row) => !/\.ts`: "[^"]+" \|$/.test(row));
    assert.deepEqual(without, []);
  });

  for (const row of ROWS) {
    for (const [, file = "", name = ""] of row.matchAll(NAMED)) {
      it(`names an existing test: ${file}, ${name}`, () => {
        const path = join(ROOT, file);
        assert.ok(existsSync(path), `There is no ${file}`);
        const names = Array.from(readFileSync(path, "utf8").matchAll(TESTS), ([, plain, filled]) =>
          (plain ?? filled ?? "").replace(/\$\{[^}]*\}/g, "…"),
        );
        assert.ok(names.includes(name), `${file} has no test "${name}"`);
      });
    }
  }
});
