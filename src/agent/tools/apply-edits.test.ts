import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { applyEdits } from "./edit-tools.ts";

describe("applyEdits()", () => {
  it("replaces a text that occurs once", () => {
    const edit = { old_string: "b", new_string: "$&x$1" };
    assert.equal(applyEdits("a b c", [edit], "f"), "a $&x$1 c");
  });

  it("refuses a text that occurs twice, and says where", () => {
    const edit = { old_string: "x", new_string: "y" };
    assert.throws(() => applyEdits("x\n\nx\n", [edit], "f"), /lines 1 and 3.*replace_all/);
    assert.equal(applyEdits("x\n\nx\n", [{ ...edit, replace_all: true }], "f"), "y\n\ny\n");
  });

  it("refuses a text that does not occur, and shows the nearest match", () => {
    const edit = { old_string: "  foo();\n  bar();", new_string: "" };
    assert.throws(
      () => applyEdits("a\n\tfoo();\n", [edit], "f.ts"),
      /'f.ts'.*Line 2 begins like it/,
    );
    assert.throws(() => applyEdits("zzz", [edit], "f.ts"), /not there. Read the file again/);
  });

  it("makes all replacements or none", () => {
    const good = { old_string: "a", new_string: "b" };
    const bad = { old_string: "nope", new_string: "" };
    assert.throws(() => applyEdits("a", [good, bad], "f"), /Edit 2 of 2 in 'f'/);
    assert.equal(applyEdits("a", [good, { old_string: "b", new_string: "c" }], "f"), "c");
  });

  it("keeps the line ends of the file", () => {
    const edit = { old_string: "a\nb", new_string: "1\n2" };
    assert.equal(applyEdits("a\r\nb\r\nc\r\n", [edit], "f"), "1\r\n2\r\nc\r\n");
  });
});
