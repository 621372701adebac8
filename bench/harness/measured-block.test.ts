import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { fillMeasured } from "./measured-block.ts";

const DOCUMENT = `# One
<!-- measured: a -->
old
<!-- /measured -->
# Two
<!-- measured: b -->
<!-- /measured -->
`;

describe("fillMeasured()", () => {
  it("replaces one bench's output and nothing else", () => {
    const filled = fillMeasured(DOCUMENT, "a", "1.5 ×");
    assert.match(
      filled,
      /^# One\n<!-- measured: a -->\n\n```text\n1\.5 ×\n```\n\n<!-- \/measured -->\n# Two/,
    );
    assert.ok(!filled.includes("old"));
    assert.ok(filled.endsWith(DOCUMENT.slice(DOCUMENT.indexOf("# Two"))));
  });

  it("does not change what it has filled in when filled in again", () => {
    const once = fillMeasured(DOCUMENT, "b", "2 ×");
    assert.equal(fillMeasured(once, "b", "2 ×"), once);
  });

  it("throws when the document does not show the bench", () => {
    assert.throws(() => fillMeasured(DOCUMENT, "c", ""), /shows no 'c'/);
  });
});
