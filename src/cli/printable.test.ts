import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { firstLine, printable } from "./printable.ts";

describe("printable()", () => {
  it("keeps text, lines and tabs, and replaces what a terminal would act on", () => {
    assert.equal(printable("a\tb\nü 漢 🙂"), "a\tb\nü 漢 🙂");
    assert.equal(printable("\u001b[2J\r\u0007\u009b\u202e\u2028"), "�[2J�����");
  });
});

describe("firstLine()", () => {
  it("is the first line that says something", () => {
    assert.equal(firstLine("\n  \n  first\tline \nsecond"), "first line");
    assert.equal(firstLine(""), "");
  });
});
