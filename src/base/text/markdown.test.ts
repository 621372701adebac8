import assert from "node:assert/strict";
import { test } from "node:test";

import { hasFence, parseInline, parseMarkdown } from "./markdown.ts";

test("parseMarkdown() reads headings, paragraphs, code, quotes and rules", () => {
  const blocks = parseMarkdown(
    "# Title #\n\nOne\ntwo\n\n```ts\nconst a = 1;\n```\n> said\n\n---\n",
  );
  assert.deepEqual(blocks, [
    { kind: "heading", level: 1, text: ["Title"] },
    { kind: "paragraph", text: ["One\ntwo"] },
    { kind: "code", language: "ts", text: "const a = 1;" },
    { kind: "quote", blocks: [{ kind: "paragraph", text: ["said"] }] },
    { kind: "rule" },
  ]);
});

test("parseMarkdown() shows the code of a fence that is still being written", () => {
  assert.deepEqual(parseMarkdown("```js\nlet a"), [
    { kind: "code", language: "js", text: "let a" },
  ]);
});

test("parseMarkdown() reads lists with tasks and lists in lists", () => {
  const [list] = parseMarkdown("1. one\n   - [x] done\n   - [ ] open\n2. two");
  assert.deepEqual(list, {
    kind: "list",
    start: 1,
    items: [
      {
        done: undefined,
        blocks: [
          { kind: "paragraph", text: ["one"] },
          {
            kind: "list",
            start: undefined,
            items: [
              { done: true, blocks: [{ kind: "paragraph", text: ["done"] }] },
              { done: false, blocks: [{ kind: "paragraph", text: ["open"] }] },
            ],
          },
        ],
      },
      { done: undefined, blocks: [{ kind: "paragraph", text: ["two"] }] },
    ],
  });
});

test("parseMarkdown() ends a list at a heading and keeps the text after it apart", () => {
  const kinds = parseMarkdown("- a\n- b\n\n## Next\n- c\n\nText").map(({ kind }) => kind);
  assert.deepEqual(kinds, ["list", "heading", "list", "paragraph"]);
});

test("parseMarkdown() reads tables", () => {
  assert.deepEqual(parseMarkdown("| a | b |\n|---|:-:|\n| 1 | `x` |\n\nend"), [
    { kind: "table", head: [["a"], ["b"]], rows: [[["1"], [{ kind: "code", text: "x" }]]] },
    { kind: "paragraph", text: ["end"] },
  ]);
});

test("parseInline() reads emphasis, code, links, and leaves snake_case alone", () => {
  assert.deepEqual(parseInline("**a *b*** `c_d` snake_case_name ~~e~~"), [
    { kind: "strong", text: ["a ", { kind: "emphasis", text: ["b"] }] },
    " ",
    { kind: "code", text: "c_d" },
    " snake_case_name ",
    { kind: "struck", text: ["e"] },
  ]);
  assert.deepEqual(parseInline("see https://a.example/b. [x](https://c.example)"), [
    "see ",
    { kind: "link", url: "https://a.example/b", text: ["https://a.example/b"] },
    ". ",
    { kind: "link", url: "https://c.example", text: ["x"] },
  ]);
});

test("parseInline() links nothing but web and mail addresses, and shows markup as text", () => {
  for (const text of ["[x](javascript:alert(1))", "<img src=x onerror=alert(1)>", "[x](data:a)"]) {
    assert.deepEqual(parseInline(text), [text]);
  }
});

test("parseMarkdown() takes linear time for hostile texts", () => {
  const before = process.cpuUsage();
  for (const piece of [
    "*",
    "**a ",
    "`",
    "``a",
    "[",
    "![",
    "> ",
    "- ",
    "_a",
    "|-",
    "<http://",
    "h",
    "[a](",
    "[[](",
    '[a](b "',
  ]) {
    parseMarkdown(piece.repeat(10_000));
    parseMarkdown(`${piece}\n`.repeat(4_000));
    // What a beginning waits for comes at the very end.
    for (const end of ["](http://a)", "*", "`"]) parseMarkdown(`${piece.repeat(50_000)}${end}`);
  }
  const { user } = process.cpuUsage(before);
  assert.ok(user < 10_000_000, `${user / 1000} ms`);
});

test("parseInline() reads the link after brackets that are none", () => {
  const link = { kind: "link", url: "http://a", text: ["x"] };
  assert.deepEqual(parseInline("[[x](http://a)"), ["[", link]);
  assert.deepEqual(parseInline(`${"[".repeat(200_000)}x](http://a)`).at(-1), link);
});

test("a megabyte of spaces or short lines takes no longer than other text", () => {
  const many = " ".repeat(1_000_000);
  assert.deepEqual(parseMarkdown(`# a${many}b ##${many}`), [
    { kind: "heading", level: 1, text: [`a${many}b`] },
  ]);
  for (const line of [`-${many}x`, `${many}-${many}x`]) {
    assert.equal(parseMarkdown(`a|b\n${line}`).length > 0, true);
  }
  assert.equal(parseMarkdown(`a|b\n${many}|${many}-${many}|${many}`)[0]?.kind, "table");
  const code = ` ${"a ".repeat(500_000)}b`;
  assert.deepEqual(parseInline(`\`${code}\``), [{ kind: "code", text: code }]);
  assert.equal(parseInline(`a${many}b  \nc`).length, 3);
  assert.equal(parseInline("a\n".repeat(500_000)).length, 1);
});

test("parseInline() shows code without one space on either side, and lines that end in a break", () => {
  const code = (text: string): unknown => parseInline(`\`${text}\``);
  assert.deepEqual(code(" a  "), [{ kind: "code", text: "a " }]);
  assert.deepEqual(code("  "), [{ kind: "code", text: "  " }]);
  assert.deepEqual(code(" a\nb "), [{ kind: "code", text: " a\nb " }]);
  assert.deepEqual(parseInline("a   \nb\\\nc \nd"), [
    ...["a", { kind: "break" }, "b", { kind: "break" }],
    "c \nd",
  ]);
});

test("hasFence() tells Markdown from the plain output of a program", () => {
  for (const text of ["```\na\n```", "Runs:\n```sh\nls", "  ```diff\n+a"])
    assert.ok(hasFence(text), text);
  const plain = ["# a comment\n* not a list", "say ``` here", "int x\n  ~~~ ^", "    ```", ""];
  for (const text of plain) assert.ok(!hasFence(text), text);
});
