import assert from "node:assert/strict";
import { it } from "node:test";

import { diffText } from "./change.ts";

const LINES = Array.from({ length: 20 }, (_, at) => `line ${at}`);

it("diffText() shows the changed lines with three around them", () => {
  const before = `${LINES.join("\r\n")}\r\n`;
  const after = `${LINES.toSpliced(10, 1, "new", "newer").join("\r\n")}\r\n`;
  const shown = ["  line 7", "  line 8", "  line 9", "- line 10", "+ new", "+ newer"];
  const rest = ["  line 11", "  line 12", "  line 13", ""];
  assert.equal(diffText("/f", before, after), ["/f, line 8:", ...shown, ...rest].join("\n"));
  assert.equal(diffText("/f", "", "a\n"), "/f, line 1:\n+ a\n");
  assert.equal(diffText("/f", "a\n", ""), "/f, line 1:\n- a\n");
});

it("diffText() masks secrets", () => {
  const token = `tlk_${"x".repeat(43)}`;
  assert.equal(diffText("/f", `a\n${token}\n`, `b\n${token}\n`), "/f, line 1:\n- a\n+ b\n  •••\n");
});
