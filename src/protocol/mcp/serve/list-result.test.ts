import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { covers } from "../../../../test/support/requirement.ts";
import { OWNER } from "../../../base/principal.ts";
import { MISSING_META } from "../../../tool/offer/tool-sources.ts";
import { pageOf, missingSources } from "./list-result.ts";

describe("pageOf()", () => {
  const items = Array.from({ length: 2_001 }, (_, index) => index);

  it("returns a short list completely, without a next page", () => {
    const short = [1, 2];
    assert.deepEqual(pageOf(short, undefined), { page: short, next: {} });
    assert.deepEqual(pageOf(items.slice(0, 1_000), undefined).next, {});
  });

  it("returns all entries of a long list, each once, over several pages", () => {
    covers("mcp.pagination.cursor", "mcp.pagination.end");
    const seen: number[] = [];
    let cursor: string | undefined;
    do {
      const { page, next } = pageOf(items, cursor);
      seen.push(...page);
      cursor = next.nextCursor;
    } while (cursor !== undefined);
    assert.deepEqual(seen, items);
  });

  it("refuses a cursor that it did not give", () => {
    covers("mcp.pagination.invalid-cursor");
    for (const cursor of ["-1", "1.5", "x", "NaN", "3000", "1e999", "0x10000"]) {
      assert.throws(() => pageOf(items, cursor), { code: -32602 }, cursor);
    }
  });
});

describe("missingSources()", () => {
  it("is empty if all servers answered, and otherwise names those that did not", () => {
    assert.deepEqual(missingSources({ missing: () => [] }, undefined, OWNER), {});
    const missing = () => [{ name: "a", why: "'a' is still starting" }] as const;
    const told = missingSources({ missing }, undefined, OWNER);
    assert.deepEqual(told, { _meta: { [MISSING_META]: ["'a' is still starting"] } });
  });
});
