import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { fillBlocks, table } from "./doc-blocks.ts";

const BLOCKS = { one: async () => "first\n", two: async () => "second" };

describe("fillBlocks()", () => {
  it("replaces what stands between the marks and nothing else", async () => {
    const text =
      "# A\n<!-- generated: one -->\nold\n<!-- /generated -->\nkept\n" +
      "<!-- generated: two -->\n<!-- /generated -->\n";
    const filled = await fillBlocks("a.md", text, BLOCKS);
    assert.equal(
      filled,
      "# A\n<!-- generated: one -->\n\nfirst\n\n<!-- /generated -->\nkept\n" +
        "<!-- generated: two -->\n\nsecond\n\n<!-- /generated -->\n",
    );
    assert.equal(await fillBlocks("a.md", filled, BLOCKS), filled);
  });

  it("names a block that nobody makes", async () => {
    const text = "<!-- generated: three -->\n<!-- /generated -->\n";
    const message = "a.md: no generated block is called 'three'. Known: one, two";
    await assert.rejects(fillBlocks("a.md", text, BLOCKS), { message });
  });

  it("refuses a block that does not end, rather than swallow the rest of the page", async () => {
    const text = "<!-- generated: one -->\n<!-- generated: two -->\n<!-- /generated -->\n";
    await assert.rejects(fillBlocks("a.md", text, BLOCKS), /a generated block does not end/);
  });
});

describe("table()", () => {
  it("keeps a bar inside its cell", () => {
    assert.equal(table(["a", "b"], [["x|y", "z"]]), "| a | b |\n| --- | --- |\n| x\\|y | z |");
  });
});
