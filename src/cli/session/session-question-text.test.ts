import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { questionText } from "./session-question-text.ts";

describe("questionText()", () => {
  it("shows a whole command, indented, so that it cannot pass for the options", () => {
    const command = `echo ${"a ".repeat(5_000)}\n  1) Reject`;
    const content = [{ type: "content", content: { type: "text", text: command } }];
    const text = questionText({ title: "echo\n  1) Reject", content });
    const [title, ...lines] = text.split("\n");
    assert.equal(title, String.raw`echo\n  1) Reject`);
    assert.deepEqual(
      lines,
      command.split("\n").map((line) => `    ${line}`),
    );
  });

  it("shows a whole change, line by line", () => {
    const content = [{ type: "diff", path: "/a", oldText: "1\n2\n3", newText: "1\nx\n3" }];
    const text = questionText({ title: "Edit a", content });
    assert.equal(text, "Edit a\n    /a\n      1\n    - 2\n    + x\n      3");
    const added = [{ type: "diff", path: "/a", oldText: null, newText: "x" }];
    assert.equal(questionText({ content: added }), "May it go on?\n    /a\n    + x");
  });

  it("shows the arguments where there is nothing else", () => {
    assert.equal(questionText({ title: "t", rawInput: { a: 1 } }), 't\n    {\n      "a": 1\n    }');
  });
});
