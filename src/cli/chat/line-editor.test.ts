import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { LineEditor } from "./line-editor.ts";
import { span } from "../transcript/styled-line.ts";
import type { Key } from "./terminal-input.ts";

/** Keys by name: `C-a`, `M-b`, `left`; what is in quotes is typed. */
function press(editor: LineEditor, ...names: string[]): void {
  for (const name of names) {
    const [, modifier = "", rest = ""] = /^([CM]-)?(.*)$/s.exec(name) ?? [];
    const isText = rest.startsWith('"');
    const key: Key = {
      name: rest,
      text: isText ? rest.slice(1, -1) : "",
      ctrl: modifier === "C-",
      meta: modifier === "M-",
      shift: false,
    };
    editor.press(key);
  }
}

function edited(...names: string[]): string {
  const editor = new LineEditor();
  press(editor, ...names);
  return `${editor.before}|${editor.text.slice(editor.before.length)}`;
}

describe("LineEditor", () => {
  it("moves and deletes by characters as people see them, words and lines", () => {
    assert.equal(edited('"one two"', "C-w"), "one |");
    assert.equal(edited('"one two"', "M-b", "M-b", "M-d"), "| two");
    assert.equal(edited('"a\u{1f469}\u200d\u{1f680}b"', "left", "backspace"), "a|b");
    assert.equal(edited('"e\u0301x"', "left", "left", '"y"'), "y|e\u0301x");
    assert.equal(edited('"one"', "M-return", '"two"', "C-a", "C-k", "backspace"), "one|");
    assert.equal(edited('"one two"', "C-u", "C-y", "C-y"), "one twoone two|");
  });

  it("goes up and down in several lines, and leaves the rest to the history", () => {
    const editor = new LineEditor();
    editor.set("first\nsecond\nx");
    const up: Key = { name: "up", text: "", ctrl: false, meta: false, shift: false };
    assert.equal(editor.press(up), true);
    assert.equal(editor.before, "first\ns");
    assert.equal(editor.press(up), true);
    assert.equal(editor.press(up), false);
  });

  it("wraps long lines, shows those around the cursor, and escapes what would not be seen", () => {
    const editor = new LineEditor();
    editor.set("abcdefghij");
    const { rows, caret } = editor.rows(9, [span("> ")]);
    assert.deepEqual(
      rows.map((row) => row.map(({ text }) => text).join("")),
      ["> abcdef", "  ghij"],
    );
    assert.deepEqual(caret, { row: 1, column: 6 });
    editor.set(Array.from({ length: 50 }, (_, at) => `line ${at}`).join("\n"));
    const long = editor.rows(40, [span("> ")]);
    assert.equal(long.rows.length, 10);
    assert.match(JSON.stringify(long.rows), /line 49/);
    editor.set("a\u202eb\tc\u6f22");
    const shown = editor.rows(60, [span("> ")]);
    assert.equal(shown.rows[0]?.[1]?.text, "a\\u202eb    c\u6f22");
    assert.equal(shown.caret.column, 2 + "a\\u202eb    c".length + 2);
  });
});
