import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { JUGGLER_TOOLS } from "../../identity/tools/definitions.ts";
import { REVIEW_TOOLS } from "../../review/tool-definitions.ts";
import { INSTRUCTIONS } from "./instructions.ts";

describe("INSTRUCTIONS", () => {
  it("name only tools that there are", () => {
    const names = [...JUGGLER_TOOLS, ...REVIEW_TOOLS].map(({ name }) => name);
    const named = INSTRUCTIONS.match(/\b(?:juggler|review)_\w+/g) ?? [];
    assert.ok(named.length >= 5);
    for (const name of named) assert.ok(names.includes(name), name);
  });

  it("cost a model few tokens", () => {
    assert.ok(INSTRUCTIONS.length < 1_000, String(INSTRUCTIONS.length));
  });
});
