import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { painted } from "../shell/layout.ts";
import { MarkdownText } from "./conversation-text.ts";

/** What a terminal gets, with styles as `<1>` and so on. */
function shown(...pieces: string[]): string {
  const markdown = new MarkdownText(true);
  const text = pieces.map((piece) => markdown.write(piece)).join("") + markdown.end();
  return painted(text)
    .replaceAll("\x1b", "ESC")
    .replaceAll(/ESC\[(\d+)m/g, "<$1>");
}

describe("MarkdownText", () => {
  it("leaves text alone where there are no colours", () => {
    const markdown = new MarkdownText(false);
    assert.equal(markdown.write("# a **b** `c`\n") + markdown.end(), "# a **b** `c`\n");
  });

  it("shows headings, bold text and code", () => {
    assert.equal(shown("## Head\ntext"), "<1>Head<22>\ntext");
    assert.equal(shown("a **b** c"), "a <1>b<22> c");
    assert.equal(shown("run `a ** b` now"), "run <36>a ** b<39> now");
    assert.equal(
      shown("```ts\nconst a = `**x**`;\n# no heading\n```\n**b**"),
      "<2>```ts<22>\n<36>const a = `**x**`;<39>\n<36># no heading<39>\n<2>```<22>\n<1>b<22>",
    );
  });

  it("shows the same, however the text is cut into pieces", () => {
    const text = "# One\n\n- **two** and `three`\n```\n# four\n```\n2 ** 3 and a*b*c\n#five\n**six";
    const bare = (each: string): string => each.replaceAll(/<\d+>/g, "");
    for (let size = 1; size <= 5; size++) {
      const pieces = text.match(new RegExp(`[^]{1,${size}}`, "g")) ?? [];
      assert.equal(bare(shown(...pieces)), bare(shown(text)), String(size));
    }
    assert.equal(
      bare(shown(text)),
      "One\n\n- two and three\n```\n# four\n```\n2 ** 3 and a*b*c\n#five\nsix",
    );
  });

  it("prints what could still have been a mark when the text ends", () => {
    assert.equal(shown("a *"), "a *");
    assert.equal(shown("a **"), "a **");
    assert.equal(shown("##"), "##");
    assert.equal(shown("``"), "");
  });

  it("does not let a style run over the end of a line", () => {
    assert.equal(shown("**a\nb"), "<1>a<22>\nb");
    assert.equal(shown("`a\nb"), "<36>a<39>\nb");
  });

  it("never passes on an escape sequence of the text", () => {
    assert.equal(shown("**\x1b[2J**"), "<1>\\u001b[2J<22>");
  });
});
