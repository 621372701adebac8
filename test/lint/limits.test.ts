import { glob, readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";
import assert from "node:assert/strict";

import { FIXED_LIMITS } from "../../scripts/schema/fixed-limits.ts";
import { DEFAULT_LIMITS } from "../../src/base/limit/limits.ts";
import { defaultConfig } from "../../src/config/config.ts";

const SRC = join(import.meta.dirname, "../../src");

/** The value of a constant, or of a property, that a source file sets to a product of numbers. */
function valueOf(source: string, name: string): number | undefined {
  const set = new RegExp(String.raw`\b${name}(?:: number)?(?: =|:) ((?:[A-Z\d_]+(?: \* )?)+)[;, ]`);
  const factors = set.exec(source)?.[1]?.split(" * ") ?? [];
  const numbers = factors.map((factor) =>
    /^\d/.test(factor) ? Number(factor.replaceAll("_", "")) : (valueOf(source, factor) ?? NaN),
  );
  return numbers.length === 0 ? undefined : numbers.reduce((product, each) => product * each, 1);
}

describe("docs/LIMITS.md", () => {
  it("has the fixed limits as the code sets them", async () => {
    for (const { folder, file, constant, value } of FIXED_LIMITS) {
      const what = `${constant} of a file ${file} in src/${folder}`;
      const files = await Array.fromAsync(glob(`${folder}/**/${file}`, { cwd: SRC }));
      const sources = await Promise.all(files.map((path) => readFile(join(SRC, path), "utf8")));
      const found = sources.map((source) => valueOf(source, constant));
      assert.deepEqual(
        found.filter((each) => each !== undefined),
        [value],
        what,
      );
    }
  });

  it("lists every configurable limit", () => {
    const { messages: _, ...limits } = defaultConfig("/data").limits;
    assert.deepEqual(limits, DEFAULT_LIMITS);
  });
});
