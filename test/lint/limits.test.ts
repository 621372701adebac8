import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";

import { FIXED_LIMITS } from "../../scripts/schema/fixed-limits.ts";
import { DEFAULT_LIMITS } from "../../src/base/limit/limits.ts";
import { defaultConfig } from "../../src/gateway/config/defaults.ts";

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
    for (const { file, constant, value } of FIXED_LIMITS) {
      const source = await readFile(join(SRC, file), "utf8");
      assert.equal(valueOf(source, constant), value, `${constant} in src/${file}`);
    }
  });

  it("has every limit that the configuration has", () => {
    const { messages: _, ...limits } = defaultConfig("/data").limits;
    assert.deepEqual(limits, DEFAULT_LIMITS);
  });
});
