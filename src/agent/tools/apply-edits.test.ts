import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { applyEdits, type Edit } from "./edit-tools.ts";

const edited = (text: string, edits: readonly Edit[], name = "f"): string => {
  return applyEdits(text, edits, name).text;
};

/** What differs; the text, the edit, and the text after it. */
const TOLERATED: readonly (readonly [string, string, string, string, string])[] = [
  ["blanks at line ends", "a  \nb\t\nc\n", "a\nb\n", "1\n2\n", "1\n2\nc\n"],
  ["blanks at line ends in CRLF", "a \r\nb\r\nc\r\n", "a\nb", "1\n2\n3", "1\r\n2\r\n3\r\nc\r\n"],
  [
    "too little indentation",
    "x {\n    if (a) {\n      b();\n    }\n}\n",
    "  if (a) {\n    b();\n  }",
    "  if (c) {\n    d();\n\n    e();\n  }",
    "x {\n    if (c) {\n      d();\n\n      e();\n    }\n}\n",
  ],
  ["too much indentation", "a\n  b\nend\n", "  a\n    b\n", "  a\n    c\n", "a\n  c\nend\n"],
  [
    "blanks for tabs",
    "\tif a {\n\t\tb()\n\t}\n",
    "    if a {\n        b()\n",
    "    if c {\n",
    "\tif c {\n\t}\n",
  ],
  ["plain quotes and dashes", "say(\u201chi\u201d \u2014 1)\n", 'say("hi" - 1)', "go()", "go()\n"],
];

describe("applyEdits()", () => {
  it("replaces a text that occurs once", () => {
    const edit = { old_string: "b", new_string: "$&x$1" };
    assert.equal(edited("a b c", [edit], "f"), "a $&x$1 c");
  });

  it("refuses a text that occurs twice, and says where", () => {
    const edit = { old_string: "x", new_string: "y" };
    assert.throws(() => applyEdits("x\n\nx\n", [edit], "f"), /lines 1 and 3.*replace_all/);
    assert.equal(edited("x\n\nx\n", [{ ...edit, replace_all: true }], "f"), "y\n\ny\n");
  });

  it("refuses a text that does not occur, and shows the nearest lines themselves", () => {
    const edit = { old_string: "  foo(1);\n  bar();", new_string: "" };
    assert.throws(
      () => applyEdits("a\n\tfoo(2);\n\tbar();\nz\n", [edit], "f.ts"),
      /'f.ts'.*not there.*nearest text.*\n {4}1\ta\n {4}2\t\tfoo\(2\);\n {4}3\t\tbar\(\);/,
    );
    assert.throws(() => applyEdits("zzz", [edit], "f.ts"), /not there. Read the file again/);
    const again = { old_string: "const a = 1;", new_string: "const a = 2;" };
    assert.throws(() => applyEdits("const a = 2;\n", [again], "f.ts"), /new text is there already/);
  });

  for (const [what, text, old_string, new_string, after] of TOLERATED) {
    it(`tolerates ${what} where there is one such place, and says so`, () => {
      const { text: made, notes } = applyEdits(text, [{ old_string, new_string }], "f");
      assert.equal(made, after);
      assert.equal(notes.length, 1);
      assert.throws(
        () => applyEdits(text + text, [{ old_string, new_string }], "f"),
        /more than once, first in lines/,
      );
    });
  }

  it("tolerates nothing that may mean something else", () => {
    const text = "if a:\n    b()\nc()\n";
    // Another indentation in one line only is another program.
    const edit = { old_string: "if a:\n  b()\n  c()", new_string: "" };
    assert.throws(() => applyEdits(text, [edit], "f"), /not there/);
    for (const old_string of ["B()", "if  a:", " \n"]) {
      assert.throws(() => applyEdits(text, [{ old_string, new_string: "x" }], "f"), /not there/);
    }
  });

  it("makes all replacements or none", () => {
    const good = { old_string: "a", new_string: "b" };
    const bad = { old_string: "nope", new_string: "" };
    assert.throws(() => applyEdits("a", [good, bad], "f"), /Edit 2 of 2 in 'f'/);
    assert.equal(edited("a", [good, { old_string: "b", new_string: "c" }], "f"), "c");
  });

  it("keeps the line ends of the file", () => {
    const edit = { old_string: "a\nb", new_string: "1\n2" };
    assert.equal(edited("a\r\nb\r\nc\r\n", [edit], "f"), "1\r\n2\r\nc\r\n");
  });
});
