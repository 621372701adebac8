import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";

const ROOT = join(import.meta.dirname, "../..");
const text = readFileSync(join(ROOT, "docs/SECURITY.md"), "utf8");

/** "`FILE`: NAME", or a file alone. */
const CITED = /`((?:src|test)\/[\w./-]+\.test\.ts)`(?:: ([^|]+?) \|)?/g;

describe("docs/SECURITY.md", () => {
  const cited = Array.from(text.matchAll(CITED), ([, file = "", name]) => ({ file, name }));

  it("names tests", () => {
    assert.ok(cited.length > 30, `${cited.length} are named`);
  });

  for (const { file, name } of cited) {
    it(`names a test that there is: ${file} ${name ?? ""}`, () => {
      assert.ok(existsSync(join(ROOT, file)), `There is no ${file}`);
      if (name === undefined) return;
      const source = readFileSync(join(ROOT, file), "utf8");
      // A name may go on with what it is tried on.
      assert.ok(source.includes(`"${name}"`) || source.includes(`\`${name}`), `No test '${name}'`);
    });
  }

  it("leaves no row without a test", () => {
    const rows = text.split("\n").filter((line) => /^\| .* \|$/.test(line));
    const sections = text.split(/^## /m).slice(2, -1).join("");
    for (const row of rows.filter((line) => sections.includes(line))) {
      if (/^\| (?:threat|failure) \|/.test(row)) continue;
      assert.match(row, /\.test\.ts`/, row);
    }
  });
});
